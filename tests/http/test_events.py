"""GET /events, over a real server: its stream never ends by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
from fastapi import FastAPI
from httpx2 import AsyncClient

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from tests.builders import Rows, new_id
from tests.http.conftest import OTHER_TOKEN, OWN_TOKEN, listening

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

SECONDS_MAX = 20


class Stream:
    """Reads one open stream piece by piece."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.last_id: str | None = None

    async def piece(self) -> dict[str, str]:
        """The fields up to the next blank line; a comment is the field named by nothing."""
        fields: dict[str, str] = {}
        async for line in self._lines:
            if not line:
                self.last_id = fields.get("id", self.last_id)
                return fields
            name, _, value = line.partition(": ")
            fields["" if line.startswith(":") else name] = value
        raise EOFError

    async def rest(self) -> None:
        """Read on until the server ends the stream."""
        async for _ in self._lines:
            pass

    async def event(self) -> dict[str, Any]:
        """The next entry; its id must be the stream's."""
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                piece = await self.piece()
                if "data" in piece:
                    event: dict[str, Any] = json.loads(piece["data"])
                    assert event["id"] == piece["id"]
                    return event


@asynccontextmanager
async def opened(url: str, *, token: str = OWN_TOKEN, after: str | None = None) -> AsyncGenerator[Stream]:
    headers = {"Authorization": f"Bearer {token}"} | ({} if after is None else {"Last-Event-ID": after})
    async with (
        AsyncClient() as client,
        client.stream("GET", f"{url}/api/v1/events", headers=headers) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        stream = Stream(answer.aiter_lines())
        assert set(await stream.piece()) == {"retry", "id"}
        yield stream


async def test_an_entry_becomes_an_event(live_url: str, own: Rows) -> None:
    """What is committed after the stream opened arrives with all that the journal keeps of it."""
    conversation = await own.conversation()
    turn = new_id()
    async with opened(live_url) as stream:
        await own.journal(
            "turn", conversation, written=3, state="obsolete", reason="authority_revoked", subject_id=turn,
            data={"attempt": 2},
        )  # fmt: skip
        event = await stream.event()

    event.pop("id")
    assert event == {
        "at": "2026-11-30T12:00:03Z",
        "kind": "turn",
        "conversation": str(conversation),
        "subject": str(turn),
        "state": "obsolete",
        "reason": "authority_revoked",
        "data": {"attempt": 2},
    }


async def test_a_stream_resumes_after_its_last_id(live_url: str, own: Rows) -> None:
    """What was committed while nobody listened comes first, once, in order; then what is new."""
    async with opened(live_url) as stream:
        await own.journal("note", reason="1")
        await own.journal("note", reason="2")
        assert [(await stream.event())["reason"] for _ in range(2)] == ["1", "2"]
        last_id = stream.last_id
    for reason in ("3", "4"):
        await own.journal("note", reason=reason)
    async with opened(live_url, after=last_id) as stream:
        assert [(await stream.event())["reason"] for _ in range(2)] == ["3", "4"]
        await own.journal("note", reason="5")
        assert (await stream.event())["reason"] == "5"


async def test_a_stream_cut_before_its_first_event_resumes_too(live_url: str, own: Rows) -> None:
    """The id sent at the opening marks the place, so that nothing is lost before the first event."""
    await own.journal("note", reason="long ago")
    async with opened(live_url) as stream:
        last_id = stream.last_id
    await own.journal("note", reason="missed")
    async with opened(live_url, after=last_id) as stream:
        assert (await stream.event())["reason"] == "missed"


async def test_an_entry_that_commits_late_is_not_skipped(live_url: str, database_dsn: str, own: Rows) -> None:
    """A transaction that began earlier and ends later is seen by a reader that resumed in between."""
    slow = await asyncpg.connect(database_dsn)
    try:
        transaction = slow.transaction()
        await transaction.start()
        await Rows(slow, own.account).journal("note", reason="late")
        async with opened(live_url) as stream:
            await own.journal("note", reason="early")
            # Only a keep-alive may come: what lies above the open transaction waits for it.
            assert set(await stream.piece()) == {""}
            last_id = stream.last_id
        await transaction.commit()
        async with opened(live_url, after=last_id) as stream:
            assert [(await stream.event())["reason"] for _ in range(2)] == ["late", "early"]
    finally:
        await slow.close()


async def test_the_whole_journal_can_be_read(live_url: str, own: Rows) -> None:
    """From position 0 on, a stream replays everything, more than one page of it."""
    await own.connection.execute(
        "insert into journal (account_id, at, kind, reason) "
        "select $1, now(), 'note', n::text from generate_series(1, 1200) n",
        own.account,
    )
    async with opened(live_url, after="0-0") as stream:
        reasons = [(await stream.event())["reason"] for _ in range(1200)]

    assert reasons == [str(number) for number in range(1, 1201)]


async def test_another_accounts_entries_are_invisible(live_url: str, own: Rows, other: Rows) -> None:
    """Live and resumed, a stream shows its own account alone."""
    async with opened(live_url) as mine, opened(live_url, token=OTHER_TOKEN) as theirs:
        await other.journal("note", reason="theirs")
        await own.journal("note", reason="mine")
        assert (await mine.event())["reason"] == "mine"
        assert (await theirs.event())["reason"] == "theirs"
    async with opened(live_url, after="0-0") as mine:
        assert (await mine.event())["reason"] == "mine"


async def test_a_silent_stream_is_kept_alive(live_url: str) -> None:
    """Without entries a comment comes, which keeps proxies from cutting the stream."""
    async with opened(live_url) as stream:
        assert await stream.piece() == {"": "keep-alive"}


async def test_open_streams_are_counted(api: FastAPI, telemetry: Telemetry) -> None:
    """The gauge follows streams as readers come and go; one that left holds up no shutdown."""
    async with asyncio.timeout(SECONDS_MAX), listening(api) as url, opened(url), opened(url):
        assert telemetry.as_json()["event_streams"] == 2

    assert telemetry.as_json()["event_streams"] == 0


async def test_stopping_the_feed_ends_streams_and_lets_the_server_stop(
    api: FastAPI, feed: JournalFeed, telemetry: Telemetry
) -> None:
    """A shutdown closes open streams in good order instead of waiting for their readers."""
    async with asyncio.timeout(SECONDS_MAX), listening(api) as url, opened(url) as stream:
        await feed.stop()
        await stream.rest()

    assert telemetry.as_json()["event_streams"] == 0


async def test_without_the_database_a_stream_is_refused(live_url: str, database: Database) -> None:
    """With the database down the answer is an error, not a stream that breaks at once."""
    await database.close()
    async with AsyncClient() as client:
        answer = await client.get(
            f"{live_url}/api/v1/events", headers={"Authorization": f"Bearer {OWN_TOKEN}"}
        )

    assert (answer.status_code, answer.json()["error"]) == (503, "database_unavailable")
