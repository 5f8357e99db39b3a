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
from tests.configuration import PLANTED, WHATSAPP, faults, load


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


def test_every_key_has_a_variable(tmp_path: Path) -> None:
    """No section's key is out of reach of the environment."""
    for key in all_keys():
        variable = f"ONEVOICE_{key.replace('.', '__')}".upper()

        found = faults(tmp_path, "", {variable: "env:UNSET"})

        assert found == [
            f"{key}: the environment has no UNSET (from {variable}); set it, or write the value here"
        ]


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
