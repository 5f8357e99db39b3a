"""`onevoice parked`: what waits for a decision, and the decision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest

from onevoice.vocabulary import AccountId
from tests.builders import Rows, new_id
from tests.cli.command import Finished, run_command

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]


@pytest.fixture
async def rows(own_database_dsn: str) -> AsyncIterator[Rows]:
    connection = await asyncpg.connect(own_database_dsn)
    yield Rows(connection, AccountId("default"))
    await connection.close()


class Terminal:
    """Runs `onevoice parked …` against one database, beside the test's own loop."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self._folder = folder
        self._environ = {"ONEVOICE_DATABASE__URL": dsn}

    async def __call__(self, *arguments: str, status: int = 0) -> Finished:
        finished = await asyncio.to_thread(
            run_command, self._folder, "parked", *arguments, environ=self._environ
        )
        assert finished.status == status, finished.err
        return finished


@pytest.fixture
def parked(tmp_path: Path, own_database_dsn: str) -> Terminal:
    return Terminal(tmp_path, own_database_dsn)


async def state_of(rows: Rows, message: object) -> tuple[str, str | None]:
    row = await rows.connection.fetchrow("select state, reason from outbound_message where id = $1", message)
    assert row is not None
    return row["state"], row["reason"]


async def test_the_oldest_is_listed_first(parked: Terminal, rows: Rows) -> None:
    """Each with what a person needs to decide; other states and accounts are not in it."""
    conversation = await rows.conversation()
    first = await rows.outbound(
        conversation, state="parked", reason="needs_template", text="Olá\n\x1b[31mAna\tLima"
    )
    second = await rows.outbound(conversation, state="parked", reason="triage_undecided", error_code="131047")
    await rows.outbound(conversation, state="uncertain")
    other = Rows(rows.connection, AccountId("other"))
    theirs = await other.outbound(await other.conversation(), state="parked")

    plain, shown = await parked("list"), json.loads((await parked("list", "--json")).out)

    lines = [line.split("\t") for line in plain.out.splitlines()]
    assert [line[0] for line in lines] == [str(first), str(second)]
    assert lines[0][1:] == [
        "2026-11-30 12:00", "loja", "5511999990000", "system", "needs_template", "-", "Olá [31mAna Lima",
    ]  # fmt: skip
    assert [item["error"] for item in shown] == [None, "131047"]
    assert shown[0]["text"] == "Olá\n\x1b[31mAna\tLima"
    [line] = (await parked("list", "--account", "other")).out.splitlines()
    assert line.startswith(str(theirs))


async def test_nothing_parked_is_told_on_stderr(parked: Terminal) -> None:
    """A pipe gets no line, JSON is an empty list."""
    empty = await parked("list")

    assert (empty.out, empty.lines) == ("", ["no message is parked"])
    assert json.loads((await parked("list", "--json")).out) == []


async def test_a_message_is_released_or_discarded(parked: Terminal, rows: Rows) -> None:
    """Released it is due again, discarded it has ended; the journal tells both."""
    conversation = await rows.conversation()
    first, second = [await rows.outbound(conversation, state="parked") for _ in range(2)]

    released, discarded = await parked("release", str(first)), await parked("discard", str(second))

    assert released.out == f"{first} is released: it leaves when its lane is free\n"
    assert discarded.out == f"{second} is discarded\n"
    assert (await state_of(rows, first))[0] == "due"
    assert (await state_of(rows, second))[0] == "cancelled"
    told = await rows.connection.fetch("select subject_id from journal where kind = 'outbound'")
    assert {row["subject_id"] for row in told} == {first, second}


async def test_it_works_in_what_an_operator_holds(parked: Terminal, rows: Rows) -> None:
    """Whoever may use the server's database acts as an admin."""
    conversation = await rows.conversation(authority_state="HUMAN_ACTIVE", authority_owner=new_id())
    message = await rows.outbound(conversation, state="parked", author="operator")
    system = await rows.outbound(conversation, state="parked")

    await parked("release", str(message))
    refused = await parked("release", str(system), status=1)

    assert (await state_of(rows, message))[0] == "due"
    # Only a human's words leave while a human has the conversation.
    assert "send the words as your own" in refused.err
    assert (await state_of(rows, system))[0] == "parked"


async def test_what_cannot_be_done_changes_nothing(parked: Terminal, rows: Rows) -> None:
    """An unknown id, another account's, or a message that does not wait: one sentence, status 1."""
    sent = await rows.outbound(await rows.conversation())
    other = Rows(rows.connection, AccountId("other"))
    theirs = await other.outbound(await other.conversation(), state="parked")

    for message in (sent, theirs, new_id()):
        for command in ("release", "discard"):
            finished = await parked(command, str(message), status=1)
            assert finished.out == ""
            assert len(finished.lines) == 1
    assert (await state_of(rows, theirs))[0] == "parked"
    assert (await parked("release", "first", status=2)).out == ""
