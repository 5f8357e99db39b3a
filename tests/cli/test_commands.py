"""What a person at a terminal, or a program that starts onevoice, relies on: statuses, sentences, help."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from onevoice.entrypoints.cli import application
from tests.architecture.project import ROOT
from tests.cli.command import PLANTED, run_command

_COMMANDS = ["serve", "demo", "simulate", "migrate", "doctor"]
_BAD = f"""
[turns]
debounce_second = 3
[database]
url = "mysql://user:{PLANTED}@host/x"
[agent]
secret = ["{PLANTED}"]
[[channels]]
name = "loja"
kind = "whatsapp"
phone_number_id = "{PLANTED}"
access_token = "{PLANTED}"
app_secret = ["{PLANTED}"]
"""


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_bad_configuration_ends_with_2_and_a_line_per_fault(tmp_path: Path, command: str) -> None:
    """Every command tells all faults at once, on stderr, and no secret."""
    (tmp_path / "bad.toml").write_text(_BAD)

    finished = run_command(
        tmp_path, command, "--config", "bad.toml", environ={"ONEVOICE_TURNS__LEASE": PLANTED}
    )

    assert finished.status == 2
    assert finished.out == ""
    assert [line.partition(": ")[0] for line in finished.lines] == [
        "ONEVOICE_TURNS__LEASE",
        "database.url",
        "turns.debounce_second",
        "agent.secret",
        "channels[0].phone_number_id",
        "channels[0].verify_token",
    ]


def test_the_working_directory_s_file_is_read(tmp_path: Path) -> None:
    """Without --config, onevoice.toml beside the caller counts, for the doctor's JSON too."""
    (tmp_path / "onevoice.toml").write_text("[turn]\n")

    finished = run_command(tmp_path, "doctor", "--json")

    assert finished.status == 2
    assert finished.lines == ["turn: unknown section; did you mean [turns]?"]
    assert json.loads(finished.out)["ok"] is False


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "c.toml: no such file; give the path of an onevoice.toml"),
        (b"[turns\n", "c.toml: is no TOML at line 1, column 7: "),
        (b"\xff", "c.toml: is not UTF-8 at byte 0; save it as UTF-8"),
    ],
)
def test_an_unreadable_file_ends_with_2(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    """A missing or broken file is one sentence."""
    if content is not None:
        (tmp_path / "c.toml").write_bytes(content)

    finished = run_command(tmp_path, "migrate", "--config", "c.toml")

    assert finished.status == 2
    (line,) = finished.lines
    assert line.startswith(sentence)


def test_a_role_that_is_not_built_is_a_fault_beside_the_others(tmp_path: Path) -> None:
    """The command line's faults are reported with the file's."""
    (tmp_path / "onevoice.toml").write_text('[redis]\nurl = "redis://localhost"')

    finished = run_command(tmp_path, "serve", "--role", "worker")

    assert finished.status == 2
    assert finished.lines == [
        "--role: worker is not built yet; leave it out, one process does everything",
        "redis.url: not built yet; leave it empty, PostgreSQL alone does the work",
    ]


def test_an_unknown_role_is_a_fault(tmp_path: Path) -> None:
    """A misspelt role does not run as another."""
    finished = run_command(tmp_path, "serve", "--role", "al")

    assert finished.status == 2
    assert finished.lines == ["--role: no such role; leave it out, one process does everything (all)"]


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_port_in_use_ends_with_1(tmp_path: Path, command: str) -> None:
    """The server says which port before it starts a database."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        finished = run_command(tmp_path, command, "--port", str(port))

    assert finished.status == 1
    assert finished.lines == [
        f"port {port} of 127.0.0.1 is in use by another process; stop it, or choose another with --port"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["192.0.2.1", "no host", ""])
def test_a_host_of_another_machine_ends_with_1(tmp_path: Path, host: str) -> None:
    """An address that is not ours is one sentence."""
    finished = run_command(tmp_path, "serve", "--host", host)

    assert finished.status == 1
    (line,) = finished.lines
    assert line.startswith(f"--host: {host} is no address of this machine; ")


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_a_port_out_of_range_ends_with_2(tmp_path: Path, port: str) -> None:
    """The command line's own form is checked by the command line."""
    assert run_command(tmp_path, "serve", "--port", port).status == 2


def test_an_unreachable_database_ends_with_1(tmp_path: Path) -> None:
    """The sentence names host and port, never user or password."""
    url = f"postgresql://someone:{PLANTED}@127.0.0.1:1/shop"

    finished = run_command(tmp_path, "migrate", environ={"ONEVOICE_DATABASE__URL": url})

    assert finished.status == 1
    (line,) = finished.lines
    assert "127.0.0.1:1/shop" in line
    assert "someone" not in line


def test_a_data_dir_that_is_a_file_ends_with_1(tmp_path: Path) -> None:
    """The embedded server's folder is named."""
    (tmp_path / "taken").write_text("")

    finished = run_command(tmp_path, "migrate", environ={"ONEVOICE_DATABASE__DATA_DIR": "taken"})

    assert finished.status == 1
    (line,) = finished.lines
    assert "taken is a file; choose a folder" in line


def test_a_folder_of_files_that_is_a_file_ends_with_2(tmp_path: Path) -> None:
    """One sentence names it, and what else there is."""
    (tmp_path / ".onevoice").mkdir()
    (tmp_path / ".onevoice" / "media").write_text("")

    finished = run_command(tmp_path, "serve", "--port", "0")

    assert finished.status == 2
    (line,) = finished.lines
    assert line.startswith("database.data_dir: files cannot be kept in ")
    assert line.endswith("/media (File exists); make it a folder of this user, or set media.url")


def test_migrate_and_doctor_on_a_new_folder(tmp_path: Path) -> None:
    """The doctor makes nothing, migrate makes the schema once, and then the doctor finds no fault."""
    before = run_command(tmp_path, "doctor")
    assert list(tmp_path.iterdir()) == []
    first = run_command(tmp_path, "migrate")
    second = run_command(tmp_path, "migrate")
    after = run_command(tmp_path, "doctor", "--json")

    assert (before.status, first.status, second.status, after.status) == (0, 0, 0, 0)
    assert "ok       database: embedded; it will be made at the first start" in before.out.splitlines()
    assert first.out.splitlines()[0] == "applied 0001_expand_message_path"
    assert second.out == "nothing to do: the schema is up to date\n"
    report = json.loads(after.out)
    assert report["ok"] is True
    levels = {finding["name"]: finding["level"] for finding in report["findings"]}
    assert levels | {"disk": "ok"} == {
        **dict.fromkeys(["configuration", "database", "clock", "migrations", "roles", "accounts"], "ok"),
        **dict.fromkeys(["data_dir", "disk", "public_url", "broker", "agent", "triage"], "ok"),
        **dict.fromkeys(["media", "transcription"], "ok"),
        "channels": "warning",
    }


def test_a_backup_is_restored(tmp_path: Path) -> None:
    """What backup wrote, restore puts back; neither overwrites anything unasked."""
    run_command(tmp_path, "migrate")
    written = run_command(tmp_path, "backup", "copy.tar")
    again = run_command(tmp_path, "backup", "copy.tar")
    unasked = run_command(tmp_path, "restore", "copy.tar")
    elsewhere = {"ONEVOICE_DATABASE__DATA_DIR": "new"}
    restored = run_command(tmp_path, "restore", "copy.tar", environ=elsewhere)
    migrated = run_command(tmp_path, "migrate", environ=elsewhere)

    assert (written.status, restored.status, migrated.status) == (0, 0, 0)
    assert (again.status, unasked.status) == (1, 1)
    assert again.lines == ["copy.tar exists already; choose another name for the backup"]
    assert len(unasked.lines) == 1
    assert migrated.out == "nothing to do: the schema is up to date\n"


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_only_the_embedded_server_is_backed_up(tmp_path: Path, command: str) -> None:
    """A server of one's own has its own tools; nothing is written."""
    url = f"postgresql://someone:{PLANTED}@127.0.0.1:1/shop"

    finished = run_command(tmp_path, command, "copy.tar", environ={"ONEVOICE_DATABASE__URL": url})

    assert finished.status == 1
    assert len(finished.lines) == 1
    assert "pg_dump" in finished.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_backup_of_or_from_nothing_ends_with_1(tmp_path: Path, command: str) -> None:
    """Neither makes a database on the way."""
    finished = run_command(tmp_path, command, "copy.tar")

    assert finished.status == 1
    assert len(finished.lines) == 1
    assert not (tmp_path / ".onevoice" / "postgres").exists()


def test_a_fault_ends_the_doctor_with_1(tmp_path: Path) -> None:
    """One line per finding on a pipe: level, name, what, and what to do."""
    (tmp_path / "onevoice.toml").write_text('[agent]\nuse = "nowhere_module:agent"')

    finished = run_command(tmp_path, "doctor")

    assert finished.status == 1
    (line,) = [line for line in finished.out.splitlines() if line.startswith("fault")]
    assert line.startswith("fault    agent: there is no module nowhere_module; install it, ")


def test_help_names_every_command_and_the_version_is_one_line(tmp_path: Path) -> None:
    """`onevoice --help` and `--version` end with 0; an unknown command with 2."""
    shown = run_command(tmp_path, "--help")
    version = run_command(tmp_path, "--version")
    unknown = run_command(tmp_path, "serv")

    assert (shown.status, version.status, unknown.status) == (0, 0, 2)
    assert all(f"\n  {command} " in shown.out for command in _COMMANDS)
    assert version.out.startswith("onevoice ")
    assert "Did you mean 'serve'?" in unknown.err


def test_help_loads_nothing_heavy() -> None:
    """What makes help slow stays out of it: driver, server, client, tables."""
    program = (
        "import sys\n"
        "from onevoice.entrypoints.cli import application\n"
        "try:\n    application(['serve', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stderr.split("'"))
    assert "typer" in loaded
    assert not loaded & {"asyncpg", "fastapi", "uvicorn", "uvloop", "httpx2", "rich", "msgspec"}


@pytest.mark.parametrize("command", [*_COMMANDS, "backup", "restore"])
def test_every_command_takes_a_configuration_and_shows_an_example(tmp_path: Path, command: str) -> None:
    """Help says what the command does, how `--config` is used, and gives an example."""
    shown = run_command(tmp_path, command, "--help")

    assert shown.status == 0
    assert "--config PATH " in shown.out
    assert f"Example: onevoice {command}" in shown.out


def test_the_tested_commands_are_all_there_are() -> None:
    """A new command joins these tests; one that does not work yet is not registered."""
    callbacks = [info.callback for info in application.registered_commands]
    names = {callback.__name__ for callback in callbacks if callback is not None}

    assert names == {*_COMMANDS, "backup", "restore"}
