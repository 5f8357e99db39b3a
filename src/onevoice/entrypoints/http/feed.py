"""Live feed of the journal: one reader per process, fanned out to the open streams.

Entries come in commit order (transaction, then id), below the oldest transaction that is still running: one
that commits late is never skipped. With no stream open, nothing is read. A consumer that cannot keep up costs
a bounded queue: what it missed is read from the journal again, so it still gets every entry once, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from onevoice.errors import DatabaseUnavailable, StatementFailed
from onevoice.store.database import Database, Row
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ConversationId

__all__ = ["JournalEntry", "JournalFeed", "Position", "Subscription"]

SQL = load_statements(__package__)
LOG = logging.getLogger(__name__)

_PAGE_ENTRIES = 500
_SECONDS_AFTER_NUDGE = 0.01
_BIGINT_MAX = 2**63 - 1


class Position(NamedTuple):
    """A place in the journal: everything up to and including it has been read."""

    xid: int
    id: int

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """Read what ``str()`` wrote (a Last-Event-ID); ``None`` when it is something else."""
        xid, dash, entry_id = text.partition("-")
        if not dash or not _is_count(xid) or not _is_count(entry_id):
            return None
        return cls(int(xid), int(entry_id))

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One decision, as the journal keeps it."""

    position: Position
    account_id: AccountId
    at: datetime
    kind: str
    conversation_id: ConversationId | None
    subject_id: UUID | None
    state: str | None
    reason: str | None
    data: dict[str, object]


class JournalFeed:
    """Reads the journal while somebody listens. A nudge only saves latency."""

    def __init__(
        self, database: Database, *, poll_seconds: float = 0.25, queue_entries_max: int = 256
    ) -> None:
        self._database = database
        self._poll_seconds = poll_seconds
        self._queue_entries_max = queue_entries_max
        self._subscriptions: dict[AccountId, dict[ConversationId | None, set[Subscription]]] = {}
        self._position: Position | None = None
        self._opening = asyncio.Lock()
        self._awake = asyncio.Event()
        self._stopped = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the reader; it sleeps until the first subscription."""
        self._task = asyncio.create_task(self._run(), name="onevoice journal feed")

    async def stop(self) -> None:
        """End every subscription, then the reader."""
        self._stopped = True
        for of_account in self._subscriptions.values():
            for subscriptions in of_account.values():
                for subscription in subscriptions:
                    subscription.end()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def nudge(self) -> None:
        """Say that something was committed just now."""
        if self._subscriptions:
            self._awake.set()

    @asynccontextmanager
    async def subscribe(
        self, conversation_id: ConversationId | None, *, account: AccountId, after: Position | None = None
    ) -> AsyncGenerator[Subscription]:
        """Every entry of the conversation (``None``: of the account) from now on, or after a position.

        Once the block is entered, whatever a query does not show yet will come as an entry.
        """
        async with self._opening:
            # The horizon also unmasks a position that another database's life has given out.
            horizon = Position((await self._database.run("feed", SQL["feed_horizon"]))[0]["xid"], 0)
            if self._position is None:
                self._position = horizon
            subscription = Subscription(
                self,
                conversation_id,
                account=account,
                live_from=self._position,
                after=min(after, horizon) if after is not None else None,
                queue_entries_max=self._queue_entries_max,
            )
            listeners = self._subscriptions.setdefault(account, {}).setdefault(conversation_id, set())
            listeners.add(subscription)
        if self._stopped:
            subscription.end()
        self._awake.set()
        try:
            yield subscription
        finally:
            self._forget(subscription)

    async def read_missed(
        self, subscription: Subscription, *, after: Position, up_to: Position
    ) -> list[JournalEntry]:
        """One page of what a subscription has missed; a short page is the last."""
        rows = await self._database.run(
            "feed",
            SQL["read_feed_of_account"],
            subscription.account,
            *after,
            *up_to,
            subscription.conversation_id,
            _PAGE_ENTRIES,
        )
        return [_read_entry(row) for row in rows]

    @property
    def page_entries(self) -> int:
        return _PAGE_ENTRIES

    def _forget(self, subscription: Subscription) -> None:
        of_account = self._subscriptions[subscription.account]
        of_account[subscription.conversation_id].discard(subscription)
        if not of_account[subscription.conversation_id]:
            del of_account[subscription.conversation_id]
        if not of_account:
            del self._subscriptions[subscription.account]

    async def _run(self) -> None:
        pause_seconds = self._poll_seconds
        while True:
            if not self._subscriptions:
                self._position = None
                await self._awake.wait()
            nudged = self._awake.is_set()
            self._awake.clear()
            entries = await self._read_safely()
            if len(entries) == _PAGE_ENTRIES:
                continue
            # A committed entry may still wait for an older transaction: look again, soon then less often.
            found = nudged or bool(entries)
            pause_seconds = _SECONDS_AFTER_NUDGE if found else min(pause_seconds * 2, self._poll_seconds)
            await self._wait(pause_seconds)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        except TimeoutError:
            return

    async def _read_safely(self) -> Sequence[JournalEntry]:
        position = self._position
        if position is None:
            return ()
        try:
            rows = await self._database.run("feed", SQL["read_feed"], *position, _PAGE_ENTRIES)
        except (DatabaseUnavailable, StatementFailed) as error:
            LOG.warning("the journal feed waits: %s", error)
            return ()
        entries = [_read_entry(row) for row in rows]
        if entries:
            self._position = entries[-1].position
            self._hand_out(entries)
        return entries

    def _hand_out(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            of_account = self._subscriptions.get(entry.account_id, {})
            for conversation_id in {None, entry.conversation_id}:
                for subscription in of_account.get(conversation_id, ()):
                    subscription.put(entry)


class Subscription:
    """One open stream's view of the feed. Iterate it, or take what is there with ``batch``."""

    def __init__(
        self,
        feed: JournalFeed,
        conversation_id: ConversationId | None,
        *,
        account: AccountId,
        live_from: Position,
        after: Position | None,
        queue_entries_max: int,
    ) -> None:
        self.conversation_id = conversation_id
        self.account = account
        self.position = live_from if after is None else after
        self._feed = feed
        self._live_from = live_from
        self._behind = after is not None and after < live_from
        self._queue: deque[JournalEntry] = deque()
        self._queue_entries_max = queue_entries_max
        self._changed = asyncio.Event()
        self._ended = False

    def put(self, entry: JournalEntry) -> None:
        """Take a live entry; a full queue is dropped and read from the journal later."""
        if len(self._queue) >= self._queue_entries_max:
            self._queue.clear()
            self._behind = True
            self._live_from = entry.position
        elif not self._behind or entry.position > self._live_from:
            self._queue.append(entry)
        self._changed.set()

    def end(self) -> None:
        """Stop the iteration; the consumer resumes elsewhere from ``position``."""
        self._ended = True
        self._changed.set()

    @property
    def ended(self) -> bool:
        return self._ended

    async def batch(self, *, seconds_max: float | None = None) -> list[JournalEntry]:
        """Entries in order; none when the time is over or the feed has stopped. Safe to cancel."""
        try:
            async with asyncio.timeout(seconds_max):
                while not self._ended:
                    entries = await self._take_missed() if self._behind else self._take_live()
                    if entries:
                        return entries
                    if not self._behind:
                        self._changed.clear()
                        await self._changed.wait()
        except TimeoutError:
            return []
        return []

    def __aiter__(self) -> AsyncIterator[JournalEntry]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[JournalEntry]:
        while entries := await self.batch():
            for entry in entries:
                yield entry

    def _take_live(self) -> list[JournalEntry]:
        entries = [entry for entry in self._queue if entry.position > self.position]
        self._queue.clear()
        if entries:
            self.position = entries[-1].position
        return entries

    async def _take_missed(self) -> list[JournalEntry]:
        up_to = self._live_from
        entries = await self._feed.read_missed(self, after=self.position, up_to=up_to)
        if entries:
            self.position = entries[-1].position
        if len(entries) < self._feed.page_entries and up_to == self._live_from:
            self._behind = False
        return entries


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _BIGINT_MAX


def _read_entry(row: Row) -> JournalEntry:
    return JournalEntry(
        position=Position(row["xid"], row["id"]),
        account_id=row["account_id"],
        at=row["at"],
        kind=row["kind"],
        conversation_id=row["conversation_id"],
        subject_id=row["subject_id"],
        state=row["state"],
        reason=row["reason"],
        data=row["data"],
    )
