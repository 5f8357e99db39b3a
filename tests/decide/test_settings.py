"""What a configuration may say, and what it is told when it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from onevoice.errors import ConfigurationError
from onevoice.settings import (
    CHANNEL_KINDS,
    AgentSettings,
    Settings,
    TurnSettings,
    WhatsAppChannelSettings,
    load_settings,
)
from onevoice.settings.faults import faults_of, line
from onevoice.settings.keys import all_keys
from onevoice.vocabulary import AfterUncertain, WhileHeld, WhileRunning

PLANTED = "planted-secret-c0ffee"
WHATSAPP = """
[[channels]]
name = "loja"
kind = "whatsapp"
phone_number_id = "100000000000001"
access_token = "token"
app_secret = "secret"
verify_token = "verify"
"""


def load(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = tmp_path / "onevoice.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environ or {})


def faults(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text, environ)
    assert PLANTED not in str(caught.value)
    assert all("\n" not in fault for fault in caught.value.faults)
    return caught.value.faults


def test_defaults_are_those_of_the_contract(tmp_path: Path) -> None:
    """An empty file gives every documented default."""
    settings = load(tmp_path, "")

    assert settings.server.drain_seconds == 15.0
    assert settings.database.url.get_secret_value() == ""
    assert settings.database.data_dir == Path(".onevoice")
    turns = settings.turns
    assert (turns.debounce_seconds, turns.max_wait_seconds, turns.lease_seconds) == (5.0, 20.0, 30.0)
    assert (turns.burst_messages, turns.max_attempts) == (50, 3)
    assert (turns.retry_for_seconds, turns.transcription_deadline_seconds) == (300.0, 30.0)
    assert turns.while_running is WhileRunning.DISCARD_UNLESS_WROTE
    outbox = settings.outbox
    assert (outbox.hold_seconds, outbox.part_interval_seconds) == (0.0, 1.2)
    assert outbox.hold_ladder_seconds == (0.3, 0.6, 1.2)
    assert (outbox.send_timeout_seconds, outbox.uncertain_wait_seconds) == (10.0, 90.0)
    assert (outbox.while_held, outbox.after_uncertain) == (WhileHeld.TRIAGE, AfterUncertain.PARK)
    assert (settings.triage.use, settings.triage.model, settings.triage.timeout_seconds) == ("rules", "", 2.0)
    agent = settings.agent
    assert (agent.use, agent.timeout_seconds, agent.history_messages) == ("builtin:demo", 60.0, 50)
    assert (agent.transcribed_label, agent.min_confidence) == ("[transcribed audio]", 0.0)
    assert agent.suggest_to_operators is False
    assert settings.channels == ()
    assert settings.policies == ()


def test_a_whatsapp_channel_is_read(tmp_path: Path) -> None:
    """A complete channel keeps its secrets secret, one app_secret standing for a list of one."""
    (channel,) = load(tmp_path, WHATSAPP).channels

    assert isinstance(channel, WhatsAppChannelSettings)
    assert (channel.name, channel.account, channel.kind) == ("loja", "default", "whatsapp")
    assert [secret.get_secret_value() for secret in channel.app_secret] == ["secret"]
    assert channel.graph_url == "https://graph.facebook.com/v23.0"


def test_app_secret_may_be_a_list(tmp_path: Path) -> None:
    """Two secrets are active while one is being replaced."""
    text = WHATSAPP.replace('app_secret = "secret"', 'app_secret = ["new", "env:OLD"]')

    (channel,) = load(tmp_path, text, {"OLD": "old"}).channels

    assert isinstance(channel, WhatsAppChannelSettings)
    assert [secret.get_secret_value() for secret in channel.app_secret] == ["new", "old"]


def test_webchat_needs_no_secret(tmp_path: Path) -> None:
    """The widget's channel has a name and a kind."""
    (channel,) = load(tmp_path, '[[channels]]\nname = "site"\nkind = "webchat"').channels

    assert (channel.name, channel.kind) == ("site", "webchat")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[turns]\ndebounce_second = 1",
            "turns.debounce_second: unknown key; did you mean turns.debounce_seconds?",
        ),
        (
            "[outbox]\nlease_seconds = 1",
            "outbox.lease_seconds: unknown key; did you mean turns.lease_seconds?",
        ),
        ("[turn]\na = 1", "turn: unknown section; did you mean [turns]?"),
        ("debounce_seconds = 1", "debounce_seconds: unknown key; did you mean turns.debounce_seconds?"),
        ("[channel]\nname = 'a'", "channel: unknown section; did you mean [[channels]]?"),
        ('[turns]\n"a\\nb" = 1', 'turns."a?b": unknown key; did you mean '),
        ("turns = 5", "turns: is no table; write its keys under [turns]"),
        ("[channels]\nname = 'a'", "channels: is no list of tables; write each one under [[channels]]"),
        ("[[turns]]\nlease_seconds = 1", "turns: is no table; write its keys under [turns]"),
        ("channels = [1]", "channels[0]: is no table; write its keys under [[channels]]"),
        ("policies = [1]", "policies[0]: is no table; write its keys under [[policies]]"),
        ("[turns]\ndebounce_seconds = -0.1", "turns.debounce_seconds: is too small; at least 0"),
        ("[turns]\nlease_seconds = 1e9", "turns.lease_seconds: is too large; at most 3600"),
        ("[turns]\nlease_seconds = nan", "turns.lease_seconds: is not a finite number; "),
        ("[turns]\nlease_seconds = inf", "turns.lease_seconds: is not a finite number; "),
        ("[turns]\nlease_seconds = true", "turns.lease_seconds: is no number; "),
        ('[turns]\nlease_seconds = "3"', "turns.lease_seconds: is no number; "),
        ("[turns]\nlease_seconds = 2026-11-30", "turns.lease_seconds: is no number; "),
        ("[turns]\nburst_messages = 1.5", "turns.burst_messages: is no whole number; "),
        ("[turns]\nburst_messages = 0", "turns.burst_messages: is too small; at least 1"),
        ("[turns]\nmax_wait_seconds = 1", "turns.max_wait_seconds: is less than turns.debounce_seconds; "),
        (
            '[turns]\nwhile_running = "discard_unless"',
            "turns.while_running: no such choice; did you mean discard_unless_wrote? It is one of enqueue, ",
        ),
        ("[turns]\nwhile_running = 3", "turns.while_running: no such choice; It is one of enqueue, "),
        (
            "[outbox]\nhold_ladder_seconds = [1, 0]",
            "outbox.hold_ladder_seconds[1]: is too small; more than 0",
        ),
        ("[outbox]\nhold_ladder_seconds = 1", "outbox.hold_ladder_seconds: is no list; "),
        (
            f"[outbox]\nhold_ladder_seconds = {[1] * 11}",
            "outbox.hold_ladder_seconds: has too many entries; at most 10",
        ),
        ('[triage]\nuse = "llm"', "triage.model: missing; "),
        ('[triage]\nuse = "rule"', "triage.use: names no decider; did you mean rules? "),
        ('[agent]\nuse = "builtin:ecko"', "agent.use: names no built-in agent; did you mean builtin:echo?"),
        ('[agent]\nuse = "my agent"', "agent.use: names no agent; "),
        ('[agent]\nuse = "https://"', "agent.use: is no web address; "),
        ('[agent]\nuse = "http://a:b"', "agent.use: is no URL; "),
        (f'[agent]\nuse = "https://user:{PLANTED}@host/"', "agent.use: holds credentials; "),
        ("[agent]\nmin_confidence = 1.1", "agent.min_confidence: is too large; at most 1"),
        ('[agent]\nsuggest_to_operators = "yes"', "agent.suggest_to_operators: is neither true nor false; "),
        (f'[agent]\nsecret = ["{PLANTED}"]', "agent.secret: is no text; "),
        (f'[broker]\nurl = "amqp://a:{PLANTED}@b"', "broker.url: not built yet; "),
        (f'[redis]\nurl = "redis://a:{PLANTED}@b"', "redis.url: not built yet; "),
        (f'[database]\nurl = "mysql://a:{PLANTED}@b"', "database.url: is no PostgreSQL URL; "),
        ('[database]\ndata_dir = ""', "database.data_dir: is empty; "),
        ('[server]\npublic_url = "chat.example.com"', "server.public_url: is no web address; "),
        ('[server]\npublic_url = "https://a/?b"', "server.public_url: ends in a ?query; "),
        ('[notify]\nurl = "ftp://a"', "notify.url: is no web address; "),
        (
            '[[channels]]\nname = "a"\nkind = "whatsap"',
            "channels[0].kind: unknown kind; did you mean whatsapp? ",
        ),
        ('[[channels]]\nname = "a"', "channels[0].kind: missing; it is one of whatsapp, webchat"),
        ('[[channels]]\nname = "Loja 1"\nkind = "webchat"', "channels[0].name: cannot stand in a URL; "),
        (f'[[channels]]\nname = "{"a" * 64}"\nkind = "webchat"', "channels[0].name: cannot stand in a URL; "),
        (
            '[[channels]]\nname = "a"\nkind = "webchat"\nkey = 1',
            "channels[0].key: unknown key; did you mean channels[0].",
        ),
        (WHATSAPP.replace('"secret"', "[]"), "channels[0].app_secret: is an empty list; "),
        (WHATSAPP.replace('"secret"', '""'), "channels[0].app_secret: is empty; "),
        (WHATSAPP.replace('"secret"', f'["{PLANTED}", " "]'), "channels[0].app_secret: is empty; "),
        (WHATSAPP.replace('"token"', '" "'), "channels[0].access_token: is empty; "),
        (
            WHATSAPP.replace("100000000000001", "+5511999990000"),
            "channels[0].phone_number_id: has a wrong form; ",
        ),
        (WHATSAPP + WHATSAPP.replace("0001", "0002"), "channels[1].name: is the same as channels[0].name; "),
        (
            WHATSAPP + WHATSAPP.replace("loja", "loja2"),
            "channels[1].phone_number_id: is the same as channels[0].phone_number_id; ",
        ),
        (
            '[[policies]]\nname = "p"\naction = "handoff"',
            "policies[0].match: missing; give match, hours, or both",
        ),
        (
            '[[policies]]\nname = "p"\naction = "handof"\nmatch = "a"',
            "policies[0].action: no such choice; did you mean handoff? It is one of handoff, suspend",
        ),
        (
            '[[policies]]\nname = "p"\naction = "suspend"\nmatch = "a("',
            "policies[0].match: is no regular expression at character 2; ",
        ),
        (
            '[[policies]]\nname = "p"\naction = "suspend"\nhours = "mon 9-18 UTC"',
            "policies[0].hours: has a part that is not days and hours; ",
        ),
        (
            WHATSAPP + '[[policies]]\nname = "p"\naction = "suspend"\nmatch = "a"\nchannels = ["loje"]',
            "policies[0].channels[0]: names no channel; did you mean loja?",
        ),
    ],
)
def test_one_fault_is_one_line_with_key_cause_and_cure(tmp_path: Path, text: str, expected: str) -> None:
    """The only line names the key, what is wrong and what would be right."""
    (fault,) = faults(tmp_path, text)

    assert fault.startswith(expected)
    assert "; " in fault


@pytest.mark.parametrize("key", ["phone_number_id", "access_token", "app_secret", "verify_token"])
def test_each_missing_key_of_a_whatsapp_channel_is_a_fault(tmp_path: Path, key: str) -> None:
    """A channel without one of its keys does not start."""
    text = "\n".join(row for row in WHATSAPP.splitlines() if not row.startswith(key))

    (fault,) = faults(tmp_path, text)

    assert fault.startswith(f"channels[0].{key}: missing; ")


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    """Wrong keys, rules between keys, lists, references and variables are told in one go."""
    text = f"""
    [turns]
    max_wait_seconds = 1
    debounce_second = 3
    [agent]
    secret = "env:UNSET"
    [[channels]]
    name = "a"
    kind = "whatsapp"
    access_token = "env:TOKEN"
    app_secret = ["{PLANTED}", "env:UNSET_TOO"]
    [[channels]]
    name = "a"
    kind = "webchat"
    """

    found = faults(tmp_path, text, {"TOKEN": PLANTED, "ONEVOICE_TURNS__BURST": "1"})

    assert {fault.partition(":")[0] for fault in found} == {
        "turns.debounce_second",
        "turns.max_wait_seconds",
        "agent.secret",
        "channels[0].app_secret[1]",
        "channels[0].phone_number_id",
        "channels[0].verify_token",
        "channels[1].name",
        "ONEVOICE_TURNS__BURST",
    }
    assert len(found) == 8


def test_an_unset_reference_is_told_once_with_its_name(tmp_path: Path) -> None:
    """A reference to a variable that is not set is no "missing key" beside it."""
    (fault,) = faults(tmp_path, WHATSAPP.replace('"token"', '"env:WA_TOKEN"'))

    assert fault.startswith("channels[0].access_token: the environment has no WA_TOKEN; ")


def test_a_reference_without_a_name_is_not_echoed(tmp_path: Path) -> None:
    """Whatever follows "env:" is shown only when it could be a variable's name."""
    (fault,) = faults(tmp_path, f'[agent]\nsecret = "env:{PLANTED}"')

    assert fault.startswith("agent.secret: is no reference to the environment; ")


def test_an_empty_referenced_secret_is_a_fault(tmp_path: Path) -> None:
    """A variable that is set to nothing does not switch signature checks off."""
    (fault,) = faults(tmp_path, WHATSAPP.replace('"secret"', '"env:S"'), {"S": ""})

    assert fault.startswith("channels[0].app_secret: is empty; ")


def test_references_take_the_type_of_their_key(tmp_path: Path) -> None:
    """A number, a switch or a list in a variable is read as TOML reads it."""
    text = """
    [turns]
    debounce_seconds = "env:A"
    [agent]
    suggest_to_operators = "env:B"
    [outbox]
    hold_ladder_seconds = ["env:C", 2]
    """
    settings = load(tmp_path, text, {"A": "1.5", "B": "true", "C": "1"})

    assert settings.turns.debounce_seconds == 1.5
    assert settings.agent.suggest_to_operators is True
    assert settings.outbox.hold_ladder_seconds == (1.0, 2.0)


def test_variables_win_over_the_file(tmp_path: Path) -> None:
    """Each key is also a variable; numbers, switches, lists and texts have their own forms there."""
    environ = {
        "ONEVOICE_TURNS__DEBOUNCE_SECONDS": "0",
        "ONEVOICE_TURNS__WHILE_RUNNING": "triage",
        "ONEVOICE_OUTBOX__HOLD_LADDER_SECONDS": "[0.1, 2]",
        "ONEVOICE_AGENT__SUGGEST_TO_OPERATORS": "true",
        "ONEVOICE_AGENT__SECRET": "123",
        "ONEVOICE_AGENT__USE": "env:WHICH_AGENT",
        "WHICH_AGENT": "http://127.0.0.1:9/agent",
        "ONEVOICE_API_TOKEN": "not a setting",
        "ONEVOICE_DATABASE__DATA_DIR": "elsewhere",
    }
    settings = load(tmp_path, "[turns]\ndebounce_seconds = 3\nlease_seconds = 9", environ)

    assert (settings.turns.debounce_seconds, settings.turns.lease_seconds) == (0.0, 9.0)
    assert settings.turns.while_running is WhileRunning.TRIAGE
    assert settings.outbox.hold_ladder_seconds == (0.1, 2.0)
    assert settings.agent.suggest_to_operators is True
    assert settings.agent.secret.get_secret_value() == "123"
    assert settings.agent.use == "http://127.0.0.1:9/agent"
    assert settings.database.data_dir == Path("elsewhere")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        (
            "ONEVOICE_TURNS__DEBOUNCE",
            "1",
            "ONEVOICE_TURNS__DEBOUNCE: no such variable; did you mean ONEVOICE_TURNS__DEB",
        ),
        (
            "ONEVOICE_CHANNELS__0__NAME",
            "a",
            "ONEVOICE_CHANNELS__0__NAME: no such variable; [[channels]] is set in the",
        ),
        (
            "ONEVOICE_TURNS__LEASE_SECONDS",
            "",
            "turns.lease_seconds: is no number, true, false or list (from ONEVOICE_",
        ),
        (
            "ONEVOICE_TURNS__LEASE_SECONDS",
            "1\nb=2",
            "turns.lease_seconds: is no number, true, false or list (from ONE",
        ),
        (
            "ONEVOICE_TURNS__LEASE_SECONDS",
            "-1",
            "turns.lease_seconds: is too small (from ONEVOICE_TURNS__LEASE_SECON",
        ),
        (
            "ONEVOICE_TURNS__LEASE_SECONDS",
            PLANTED,
            "turns.lease_seconds: is no number, true, false or list (from ",
        ),
        (
            "ONEVOICE_DATABASE__URL",
            PLANTED,
            "database.url: is no PostgreSQL URL (from ONEVOICE_DATABASE__URL); ",
        ),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, variable: str, value: str, expected: str) -> None:
    """A fault that came from the environment says which variable to mend."""
    (fault,) = faults(tmp_path, "", {variable: value})

    assert fault.startswith(expected)


def test_every_key_has_a_variable(tmp_path: Path) -> None:
    """No section's key is out of reach of the environment."""
    for key in all_keys():
        variable = f"ONEVOICE_{key.replace('.', '__')}".upper()

        found = faults(tmp_path, "", {variable: "env:UNSET"})

        assert found == [
            f"{key}: the environment has no UNSET (from {variable}); set it, or write the value here"
        ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[turns\n", "is no TOML at line 1, column 7: "),
        (f'[agent]\nsecret = "{PLANTED}\n'.encode(), "is no TOML at line 2, column "),
        (b"a = 1\na = 2\n", "is no TOML at line 2, column 6: "),
        (b"\xff\xfe", "is not UTF-8 at byte 0; "),
        (b"a = " + b"[" * 100_000, "is nested too deep; "),
        (b"#" * 1_000_001, "is larger than a megabyte; "),
    ],
)
def test_an_unreadable_file_is_one_sentence(tmp_path: Path, content: bytes, expected: str) -> None:
    """A syntax error names line and column and repeats no value."""
    file = tmp_path / "c.toml"
    file.write_bytes(content)

    with pytest.raises(ConfigurationError) as caught:
        load_settings(file, {})

    (fault,) = caught.value.faults
    assert fault.startswith(f"{file}: {expected}")
    assert PLANTED not in fault


def test_a_missing_file_is_a_fault_only_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a path, onevoice.toml of the working directory is read if there is one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml: no such file; "):
        load_settings(Path("nowhere.toml"), {})
    with pytest.raises(ConfigurationError, match=r"cannot be read"):
        load_settings(tmp_path, {})
    assert load_settings(None, {}).turns.debounce_seconds == 5.0

    (tmp_path / "onevoice.toml").write_text("[turns]\ndebounce_seconds = 1")

    settings = load_settings(None, {})
    assert settings.turns.debounce_seconds == 1.0
    assert settings.folder == tmp_path


def test_a_built_in_configuration_stands_for_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It replaces the working directory's file, never a named one; variables win over it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onevoice.toml").write_text("[turns]\nlease_seconds = 9")
    built_in = {"turns": {"debounce_seconds": 1}}

    assert load_settings(None, {}, built_in=built_in).turns == TurnSettings(debounce_seconds=1)
    named = load_settings(tmp_path / "onevoice.toml", {}, built_in=built_in)
    assert named.turns == TurnSettings(lease_seconds=9)
    overridden = load_settings(None, {"ONEVOICE_TURNS__DEBOUNCE_SECONDS": "2"}, built_in=built_in)
    assert overridden.turns.debounce_seconds == 2


def test_the_folder_is_that_of_the_file(tmp_path: Path) -> None:
    """A module named in the configuration is looked for beside it."""
    assert load(tmp_path, "").folder == tmp_path


def test_the_version_follows_the_configuration_and_not_its_secrets(tmp_path: Path) -> None:
    """Each turn records the version; rotating a secret or moving the file is no new one."""
    first = load(tmp_path, WHATSAPP).version()
    rotated = load(tmp_path, WHATSAPP.replace('"secret"', '"another"').replace('"token"', '"t2"')).version()
    changed = load(tmp_path, WHATSAPP + "[turns]\ndebounce_seconds = 1").version()

    assert first == rotated
    assert first != changed
    assert len(first) == 12


def test_secrets_show_in_no_representation(tmp_path: Path) -> None:
    """Printing settings, or an error of building them in code, shows no secret."""
    text = WHATSAPP.replace('"secret"', f'["{PLANTED}"]').replace('"token"', f'"{PLANTED}"')
    settings = load(
        tmp_path, text + f'[agent]\nsecret = "{PLANTED}"\n[database]\nurl = "postgres://a:{PLANTED}@b/c"'
    )

    assert PLANTED not in repr(settings) + str(settings) + settings.model_dump_json()
    with pytest.raises(ValidationError) as caught:
        AgentSettings.model_validate({"secret": SecretStr(PLANTED), "wrong": PLANTED})
    assert PLANTED not in str(caught.value)


def test_settings_are_frozen() -> None:
    """What was read at the start holds until the end."""
    with pytest.raises(ValidationError):
        Settings().turns.debounce_seconds = 1


def test_rules_between_keys_hold_for_settings_built_in_code() -> None:
    """Embedding applications meet the same rules as files."""
    with pytest.raises(ValidationError):
        TurnSettings(debounce_seconds=30)
    channel: dict[str, Any] = {"name": "a", "kind": "webchat"}
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"channels": [channel, channel]})
    (fault,) = faults_of(caught.value, {})
    assert line(*fault).startswith("channels[1].name: is the same as channels[0].name; ")


@pytest.mark.parametrize(
    "use",
    ["builtin:demo", "builtin:echo", "shop:agent", "shop.bot:Agent.create", "http://127.0.0.1:8001/a?b=c"],
)
def test_every_form_of_agent_is_accepted(use: str) -> None:
    """Built-in, own function, HTTP on loopback too."""
    assert AgentSettings(use=use).use == use


_KEYS = st.text(min_size=1, max_size=80)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(_KEYS, children, max_size=3),
    max_leaves=6,
)


@given(
    raw=st.dictionaries(
        st.sampled_from(list(Settings.model_fields)) | _KEYS,
        _VALUES
        | st.dictionaries(
            _KEYS | st.sampled_from([key.partition(".")[2] for key in all_keys()]), _VALUES, max_size=4
        )
        | st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "kind": st.sampled_from(list(CHANNEL_KINDS)) | _VALUES,
                    "name": _VALUES,
                    "match": _VALUES,
                },
            ),
            max_size=3,
        ),
        max_size=4,
    )
)
def test_any_mapping_is_either_settings_or_faults_of_one_line(raw: dict[str, Any]) -> None:
    """Nothing that can be written down makes reading raise something else than a validation error."""
    try:
        Settings.model_validate(raw)
    except ValidationError as error:
        found = [line(*fault) for fault in faults_of(error, raw)]
        assert found
        assert all(len(text.splitlines()) == 1 and ": " in text and "; " in text for text in found)
    else:
        assert set(raw) <= set(Settings.model_fields)


@given(
    key=st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True),
    section=st.sampled_from(["turns", "agent", "x"]),
)
def test_a_random_key_is_a_fault_that_names_a_known_one(
    tmp_path_factory: pytest.TempPathFactory, key: str, section: str
) -> None:
    """An unknown key never passes and never crashes; the nearest key is a real one."""
    if f"{section}.{key}" in all_keys():
        return
    found = faults(tmp_path_factory.getbasetemp(), f'[{section}]\n"{key}" = 1')

    (fault,) = found
    suggestion = fault.partition("did you mean ")[2].removesuffix("?")
    assert suggestion in all_keys() or suggestion.strip("[]") in Settings.model_fields
