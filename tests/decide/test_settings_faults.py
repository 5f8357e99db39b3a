"""What is said about a configuration that cannot be used: key, cause and cure, never a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from onevoice.errors import ConfigurationError
from onevoice.settings import load_settings
from tests.configuration import PLANTED, WHATSAPP, faults


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
        ('[agent]\nuse = "http://0177.0.0.1"', "agent.use: has a host of digits that is no address; "),
        ('[notify]\nurl = "http://10.0.0.256/x"', "notify.url: has a host of digits that is no address; "),
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
        ('[media]\nurl = "https://bucket"', "media.url: names no bucket; write s3://bucket/prefix"),
        ('[media]\nurl = "s3://B"', "media.url: names no bucket; "),
        ('[media]\nregion = "sa-east-1"', "media.region: says nothing without url; "),
        ('[media]\nendpoint = "x"', "media.endpoint: unknown key; did you mean media.endpoint_url?"),
        (
            f'[media]\nurl = "s3://files"\nsecret_access_key = "{PLANTED}"',
            "media.access_key_id: missing; give both keys, or neither",
        ),
        ('[transcription]\nurl = "api.openai.com"', "transcription.url: is no web address; "),
        ('[transcription]\nuse = "ears"', "transcription.use: names no function; "),
        ('[transcription]\nmodel = " "', "transcription.model: is empty; "),
        ('[transcription]\nlanguage = "Portuguese"', "transcription.language: is no language's code; "),
        (
            '[transcription]\nurl = "http://127.0.0.1:1/v1"\nuse = "ears:hear"',
            "transcription.use: cannot stand beside url; keep one of the two",
        ),
        (f'[transcription]\napi_kei = "{PLANTED}"', "transcription.api_kei: unknown key; did you mean "),
        (WHATSAPP + 'media_hosts = ["https://a.example"]', "channels[0].media_hosts[0]: names no host; "),
        (WHATSAPP + 'media_hosts = ["*.com"]', "channels[0].media_hosts[0]: names no host; "),
        (WHATSAPP + 'media_hosts = ["10.0.0.8"]', "channels[0].media_hosts[0]: names no host; "),
        (WHATSAPP + 'media_hosts = ["*"]', "channels[0].media_hosts[0]: names no host; "),
        (WHATSAPP + 'typing_indicator = "no"', "channels[0].typing_indicator: is neither true nor false; "),
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
