"""The journal feed on a real database: commit order, no gap, no double, bounded queues."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.http.feed import JournalEntry, JournalFeed, Position, Subscription
from onevoice.store.database import Database, Row
from onevoice.store.statements import Statement
from onevoice.vocabulary import AccountId
from tests.builders import Rows, new_id

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ACCOUNT = AccountId("default")


@pytest.fixture
def rows(owner: Connection) -> Rows:
    return Rows(owner, ACCOUNT)


async def take(subscription: Subscription, count: int) -> list[str]:
    """The kinds of the next entries, waited for with a limit."""
    kinds: list[str] = []
    async with asyncio.timeout(10):
        while len(kinds) < count:
            kinds += [entry.kind for entry in await subscription.batch()]
    return kinds


async def test_a_late_commit_is_not_skipped(
    feed: JournalFeed, rows: Rows, database_dsn: str, owner: Connection
) -> None:
    """An entry whose transaction began first and ends last comes before the one that overtook it."""
    slow = await asyncpg.connect(database_dsn)
    async with feed.subscribe(None, account=ACCOUNT) as subscription:
        transaction = slow.transaction()
        await transaction.start()
        await Rows(slow, ACCOUNT).journal("slow")
        await rows.journal("quick")
        feed.nudge()

        assert await subscription.batch(seconds_max=0.2) == []

        await transaction.commit()

        assert await take(subscription, 2) == ["slow", "quick"]
    await slow.close()


async def test_a_rolled_back_entry_holds_nothing_up(feed: JournalFeed, rows: Rows, database_dsn: str) -> None:
    """What was never committed is never shown, and what came after it is."""
    slow = await asyncpg.connect(database_dsn)
    async with feed.subscribe(None, account=ACCOUNT) as subscription:
        transaction = slow.transaction()
        await transaction.start()
        await Rows(slow, ACCOUNT).journal("undone")
        await rows.journal("done")
        await transaction.rollback()

        assert await take(subscription, 1) == ["done"]
    await slow.close()


async def test_a_subscription_sees_its_own_conversation_only(feed: JournalFeed, rows: Rows) -> None:
    """Entries go to the streams of their conversation and to those of the whole account."""
    one, other = new_id(), new_id()
    async with (
        feed.subscribe(one, account=ACCOUNT) as of_one,
        feed.subscribe(None, account=ACCOUNT) as of_all,
    ):
        await rows.journal("other", other)
        await rows.journal("channel", None)
        await rows.journal("one", one)

        assert await take(of_one, 1) == ["one"]
        assert await take(of_all, 3) == ["other", "channel", "one"]


async def test_accounts_are_apart(feed: JournalFeed, owner: Connection) -> None:
    """Another account's entry is not shown, even under the same conversation id."""
    conversation = new_id()
    async with feed.subscribe(conversation, account=ACCOUNT) as subscription:
        await Rows(owner, AccountId("foreign")).journal("foreign", conversation)
        await Rows(owner, ACCOUNT).journal("own", conversation)

        assert await take(subscription, 1) == ["own"]


async def test_a_resuming_reader_gets_what_it_missed(feed: JournalFeed, rows: Rows) -> None:
    """From a position on, every entry comes once: those of the past first, then the live ones."""
    async with feed.subscribe(None, account=ACCOUNT) as subscription:
        for number in range(3):
            await rows.journal(f"before {number}")
        assert len(await take(subscription, 3)) == 3
        position = subscription.position
    for number in range(1200):
        await rows.journal(f"missed {number}")

    async with feed.subscribe(None, account=ACCOUNT, after=position) as subscription:
        await rows.journal("live")

        assert await take(subscription, 1201) == [*(f"missed {number}" for number in range(1200)), "live"]
        assert await subscription.batch(seconds_max=0.05) == []


async def test_an_entry_is_not_repeated_to_a_reader_that_is_ahead(feed: JournalFeed, rows: Rows) -> None:
    """A position that this process has not reached yet (another process gave it out) is respected."""
    async with feed.subscribe(None, account=ACCOUNT) as first:
        await rows.journal("one")
        await rows.journal("two")
        await take(first, 2)
        async with feed.subscribe(None, account=ACCOUNT, after=first.position) as second:
            await rows.journal("three")

            assert await take(second, 1) == ["three"]


async def test_a_process_that_is_behind_repeats_nothing(
    feed: JournalFeed, database: Database, rows: Rows
) -> None:
    """A reader that comes over from a quicker process is not given again what it had there."""
    async with (
        JournalFeed(database, poll_seconds=60) as behind,
        behind.subscribe(None, account=ACCOUNT) as waiting,
        feed.subscribe(None, account=ACCOUNT) as ahead,
    ):
        # Its first looks find nothing; then it rests until it is nudged.
        assert await waiting.batch(seconds_max=0.3) == []
        await rows.journal("had")
        await take(ahead, 1)
        async with behind.subscribe(None, account=ACCOUNT, after=ahead.position) as moved:
            await rows.journal("new")
            behind.nudge()

            assert await take(moved, 1) == ["new"]
            assert await take(waiting, 2) == ["had", "new"]


async def test_a_position_of_another_database_is_no_blindfold(feed: JournalFeed, rows: Rows) -> None:
    """A position beyond everything that exists starts at now instead of hiding what comes."""
    async with feed.subscribe(None, account=ACCOUNT, after=Position(2**62, 1)) as subscription:
        await rows.journal("new")

        assert await take(subscription, 1) == ["new"]


async def test_a_slow_reader_loses_nothing(database: Database, rows: Rows) -> None:
    """When its queue overflows, it reads the journal itself, and goes on live without a gap or a double."""
    async with (
        JournalFeed(database, poll_seconds=0.02, queue_entries_max=4) as feed,
        feed.subscribe(None, account=ACCOUNT) as slow,
        feed.subscribe(None, account=ACCOUNT) as quick,
    ):
        for number in range(20):
            await rows.journal(f"entry {number}")
            await take(quick, 1)
        await rows.journal("last")

        assert await take(slow, 21) == [*(f"entry {number}" for number in range(20)), "last"]


async def test_a_reader_that_falls_behind_while_it_catches_up_loses_nothing(
    database: Database, rows: Rows
) -> None:
    """Its queue overflows once more while it reads what it missed; it then reads that from the journal too."""
    reading, goes_on = asyncio.Event(), asyncio.Event()

    class Gated(Database):
        async def run(self, name: str, statement: Statement, *args: object) -> list[Row]:
            found = await super().run(name, statement, *args)
            if statement.name == "read_feed_of_account" and not reading.is_set():
                reading.set()
                await goes_on.wait()
            return found

    database.__class__ = Gated
    async with (
        JournalFeed(database, poll_seconds=0.02, queue_entries_max=2) as feed,
        feed.subscribe(None, account=ACCOUNT) as slow,
        feed.subscribe(None, account=ACCOUNT) as quick,
    ):
        for number in range(4):
            await rows.journal(f"entry {number}")
            await take(quick, 1)
        taking = asyncio.create_task(take(slow, 10))
        await reading.wait()
        for number in range(4, 10):
            await rows.journal(f"entry {number}")
            await take(quick, 1)
        goes_on.set()

        assert await taking == [f"entry {number}" for number in range(10)]


async def test_cancelling_a_wait_loses_nothing(feed: JournalFeed, rows: Rows) -> None:
    """A batch that was given up leaves its entries for the next one."""
    async with feed.subscribe(None, account=ACCOUNT) as subscription:
        waiting = asyncio.create_task(subscription.batch())
        await asyncio.sleep(0)  # noqa: TID251 - Lets the task reach its wait.
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await rows.journal("kept")

        assert await take(subscription, 1) == ["kept"]


async def test_nobody_listening_means_no_statement(database: Database, rows: Rows) -> None:
    """Without a subscription the reader asks the database nothing, nudged or not."""
    asked: list[str] = []

    class Counting(Database):
        async def run(self, name: str, statement: Statement, *args: object) -> list[Row]:
            asked.append(statement.name)
            return await super().run(name, statement, *args)

    database.__class__ = Counting
    async with JournalFeed(database, poll_seconds=0.01) as feed:
        async with feed.subscribe(None, account=ACCOUNT) as subscription:
            await rows.journal("seen")
            await take(subscription, 1)
        await subscription.batch(seconds_max=0.05)
        asked.clear()
        feed.nudge()

        assert await subscription.batch(seconds_max=0.1) == []
        assert asked == []

        # What was written meanwhile belongs to the past; what comes now is shown.
        await rows.journal("unseen")
        async with feed.subscribe(None, account=ACCOUNT) as subscription:
            await rows.journal("shown")
            assert (await take(subscription, 1))[-1] == "shown"


async def test_stopping_ends_every_iteration(feed: JournalFeed, rows: Rows) -> None:
    """A consumer in `async for` comes to its end; it resumes elsewhere from its position."""
    seen: list[JournalEntry] = []

    async def consume(subscription: Subscription) -> None:
        async for entry in subscription:
            seen.append(entry)
            await feed.stop()

    conversation: UUID = new_id()
    async with feed.subscribe(conversation, account=ACCOUNT) as subscription:
        await rows.journal("only", conversation, state="sent", reason="because", data={"part": 1})
        async with asyncio.timeout(10):
            await consume(subscription)

    assert [(entry.kind, entry.state, entry.reason, entry.data) for entry in seen] == [
        ("only", "sent", "because", {"part": 1})
    ]
    assert subscription.position == seen[0].position


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("7-12", Position(7, 12)),
        ("", None),
        ("7", None),
        ("-7", None),
        ("7-", None),
        ("7-x", None),
        ("７-1", None),
        ("9223372036854775808-1", None),
        ("1" * 40 + "-1", None),
    ],
)
def test_positions_are_read_back(text: str, position: Position | None) -> None:
    """Only what the feed wrote is a position; anything else is none."""
    assert Position.parse(text) == position
    assert position is None or str(position) == text
