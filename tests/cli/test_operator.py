"""`onevoice operator`: what a person or a script gets on stdout, and what is told beside it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
from typer.testing import CliRunner

from onevoice.entrypoints.cli import application
from tests.cli.command import Finished, run_command

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_PASSWORD = re.compile(r"([a-z2-9]{5}-){3}[a-z2-9]{5}\n")
_TOKEN = re.compile(r"ov_[A-Za-z0-9_-]{43}\n")


class Terminal:
    """Runs `onevoice operator …` against one database."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self._folder = folder
        self._environ = {"ONEVOICE_DATABASE__URL": dsn}

    def __call__(self, *arguments: str, status: int = 0) -> Finished:
        finished = run_command(self._folder, "operator", *arguments, environ=self._environ)
        assert finished.status == status, finished.err
        return finished


@pytest.fixture
def operator(tmp_path: Path, own_database_dsn: str) -> Terminal:
    return Terminal(tmp_path, own_database_dsn)


def test_a_password_is_alone_on_stdout(operator: Terminal) -> None:
    """A script reads it; a person is told on stderr whose it is."""
    added = operator("add", "ana")

    assert _PASSWORD.fullmatch(added.out)
    assert added.lines == ["ana was added to account default as operator; this is shown once:"]


def test_a_token_is_alone_on_stdout(operator: Terminal) -> None:
    """With --token, and when another is made for an operator."""
    added = operator("add", "bot", "--token", "--role", "admin")
    another = operator("token", "bot")

    assert _TOKEN.fullmatch(added.out)
    assert _TOKEN.fullmatch(another.out)
    assert added.out != another.out
    assert added.lines[0].startswith("bot was added to account default as admin;")


def test_the_list_is_lines_on_a_pipe_and_json_when_asked(operator: Terminal) -> None:
    """Tab-separated without a header, so that a script may cut it; nothing at all is told on stderr."""
    empty = operator("list")
    operator("add", "rui")
    operator("add", "ana", "--token", "--role", "admin", "--account", "loja")
    plain = operator("list")
    ours = json.loads(operator("list", "--json", "--account", "loja").out)

    assert (empty.out, empty.lines) == (
        "",
        ["there is no operator yet; `onevoice operator add NAME` adds one"],
    )
    assert [line.split("\t")[:7] for line in plain.out.splitlines()] == [
        ["default", "rui", "operator", "yes", "0", "0", "-"],
        ["loja", "ana", "admin", "no", "1", "0", "-"],
    ]
    [ana] = ours
    assert (ana["name"], ana["role"], ana["tokens"], ana["password"], ana["disabled"]) == (
        "ana",
        "admin",
        1,
        False,
        None,
    )


def test_an_operator_is_disabled_and_enabled(operator: Terminal) -> None:
    """A disabled operator gets no token, and is told so with the next act."""
    operator("add", "ana")
    disabled = operator("disable", "ana")
    refused = operator("token", "ana", status=1)
    enabled = operator("enable", "ana")
    new = operator("password", "ana")

    assert disabled.out == "ana is disabled\n"
    assert refused.lines == ["ana is disabled; `onevoice operator enable ana` first"]
    assert refused.out == ""
    assert enabled.out == "ana is enabled\n"
    assert _PASSWORD.fullmatch(new.out)


async def test_what_a_disabled_operator_holds_is_told(tmp_path: Path, own_database_dsn: str) -> None:
    """The conversations stay theirs until somebody acts."""
    operator = Terminal(tmp_path, own_database_dsn)
    await asyncio.to_thread(operator, "add", "ana")
    connection = await asyncpg.connect(own_database_dsn)
    try:
        await connection.execute(
            "insert into conversation (account_id, id, channel, contact_address, authority_state, authority_owner, "
            "authority_since, last_activity_at) select account_id, gen_random_uuid(), 'loja', '55', 'HUMAN_ACTIVE', "
            "id, now(), now() from operator"
        )
    finally:
        await connection.close()

    disabled = await asyncio.to_thread(operator, "disable", "ana")

    assert disabled.lines == [
        "ana holds 1 conversation(s); an admin can take them with force, release or transfer them"
    ]


def test_an_account_that_no_channel_has_is_told(tmp_path: Path, own_database_dsn: str) -> None:
    """It is added all the same: the channel may come later."""
    operator = Terminal(tmp_path, own_database_dsn)
    (tmp_path / "onevoice.toml").write_text(
        '[[channels]]\nname = "chat"\nkind = "webchat"\naccount = "loja"\n'
    )

    odd, fine = operator("add", "ana", "--account", "lojja"), operator("add", "ana", "--account", "loja")

    assert odd.lines[1:] == [
        "no channel of this configuration belongs to account lojja; known: default, loja"
    ]
    assert fine.lines[1:] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "automation"), "the name automation belongs to whoever calls with ONEVOICE_API_TOKEN"),
        (("disable", "nobody"), "account default has no operator nobody; `onevoice operator list`"),
        (("token", "nobody", "--account", "loja"), "account loja has no operator nobody;"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: Path, database_dsn: str, arguments: tuple[str, ...], sentence: str
) -> None:
    """Status 1, nothing on stdout."""
    finished = Terminal(tmp_path, database_dsn)(*arguments, status=1)

    assert finished.out == ""
    [line] = finished.lines
    assert line.startswith(sentence)


def test_a_name_is_taken(operator: Terminal) -> None:
    """The second gets neither a password nor the first one's place."""
    operator("add", "ana")
    second = operator("add", "ana", status=1)

    assert second.out == ""
    assert second.lines == ["account default has an operator ana already; choose another name"]


def test_an_unknown_role_ends_with_2(tmp_path: Path) -> None:
    """Before any database is looked at."""
    finished = run_command(tmp_path, "operator", "add", "ana", "--role", "boss")

    assert finished.status == 2
    assert finished.lines == ["--role: no such role; use admin or operator"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", ["operator", "parked"])
def test_help_names_each_command_with_its_configuration_and_an_example(group: str) -> None:
    """A group's commands are described like every other command."""
    runner = CliRunner()
    [commands] = [
        info.typer_instance
        for info in application.registered_groups
        if info.typer_instance and info.name == group
    ]
    names = [info.name or getattr(info.callback, "__name__", "") for info in commands.registered_commands]

    shown = {name: runner.invoke(application, [group, name, "--help"]).output for name in names}

    assert len(names) >= 3
    assert all("--config PATH " in text for text in shown.values())
    assert [name for name, text in shown.items() if f"Example: onevoice {group} {name}" not in text] == []
