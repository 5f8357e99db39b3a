"""Seats and gates: every actor stops before each step and goes on when it is told to.

A crashed actor's coroutine is left standing where it was, neither closed nor collected, until the schedule
is over: its ``finally`` blocks would run, a killed process's never do.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from onevoice.store.connections import Connection, Connections
from onevoice.store.database import Database, Row, Transaction
from onevoice.store.statements import Statement
from onevoice.vocabulary import AccountId

Facts = Mapping[str, Any]
Guard = Callable[[Facts], bool]

TRANSACTION = 1
STATEMENT = 2
# Also where nothing but a death could happen: after a commit, before anybody knows of it.
ANYWHERE = 3


class StepClock:
    """One clock for all actors. ``now`` is read when a statement reaches the server, as the database's clock is."""

    NOW: Any = object()

    def __init__(self, start: datetime) -> None:
        self.start = start
        self.instant = start

    def now(self) -> Any:
        return self.NOW

    def monotonic(self) -> float:
        return (self.instant - self.start).total_seconds()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(
            f"a step of the flow wants to sleep {seconds} s: only the loops of a process may"
        )

    def advance(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)


class Seat:
    """Where one actor stands: its pending gate, what it has observed, and how it ended."""

    def __init__(
        self, name: str, *, level: int, clock: StepClock, is_free: bool = False, is_plain: bool = False
    ) -> None:
        """A free seat stops nowhere; a plain one, too, gets no answer but the ordinary one."""
        self.name = name
        self.level = level
        self.clock = clock
        self.is_free = is_free
        self.is_plain = is_plain or is_free
        self.task: asyncio.Task[None] | None = None
        self.label = ""
        self.guard: Guard | None = None
        self.observed = hashlib.blake2b(digest_size=8)
        self.last_seen = ""
        self.is_crashed = False
        self.is_over = False
        self.is_blocked = False
        # Whether a transaction of its has ended since this was last asked: only then anything is durable or unlocked.
        self.has_ended = False
        self.settled = asyncio.Event()
        self._gate: asyncio.Future[None] | None = None
        self._next_guard: Guard | None = None
        self.results: list[list[Row]] = []
        self.known_results: deque[list[Row]] | None = None

    @property
    def is_waiting(self) -> bool:
        return self._gate is not None and not self.is_crashed

    @property
    def is_done(self) -> bool:
        return self.task is not None and self.task.done()

    def only_when(self, guard: Guard) -> None:
        """The next gate stays shut until the conversation's facts allow it."""
        self._next_guard = guard

    async def gate(self, label: str, *, level: int = TRANSACTION) -> None:
        """Stop here until the explorer lets this actor go on."""
        if self.is_over:
            raise asyncio.CancelledError
        if self.is_free or level > self.level:
            return
        self.label, self.guard, self._next_guard = label, self._next_guard, None
        self._gate = asyncio.get_running_loop().create_future()
        self.settled.set()
        try:
            await self._gate
        finally:
            self._gate = None

    def observe(self, what: object) -> None:
        """Whatever an actor has seen is part of where it stands."""
        if self.is_free:
            return
        self.last_seen = repr(what)
        self.observed.update(self.last_seen.encode())

    async def result(self, fetch: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        """A statement's rows: from the server, or as they are known from an earlier run with the same beginning."""
        rows = self.known_results.popleft() if self.known_results is not None else await fetch()
        self.results.append(rows)
        self.observe([tuple(row.values()) for row in rows])
        return rows

    def release(self) -> None:
        """Open the gate it waits at."""
        gate = self._gate
        if gate is None or gate.done():
            raise AssertionError(f"{self.name} waits at no gate")
        self.settled.clear()
        gate.set_result(None)

    def note_end(self, _: asyncio.Task[None]) -> None:
        self.settled.set()

    async def end(self) -> None:
        """The schedule is over: let go of whatever still stands at a gate."""
        self.is_over = True
        if self._gate is not None and not self._gate.done():
            self._gate.cancel()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])


class GatedTransaction(Transaction):
    """A gate before every statement."""

    def __init__(self, database: GatedDatabase, name: str, connection: Connection) -> None:
        super().__init__(name, connection)
        self._database = database

    async def fetch(self, statement: Statement, *args: object) -> list[Row]:
        seat = self._database.occupant()
        await seat.gate(f"{self.name}: {statement.name}", level=STATEMENT)
        fetch = super().fetch
        return await seat.result(lambda: fetch(statement, *self._database.timed(args)))


class GatedDatabase(Database):
    """The real store; every transaction, statement and commit of its occupant is a gate."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self.seat: Seat | None = None
        self.transaction_type = partial(GatedTransaction, self)  # type: ignore[assignment]  # A type, curried.

    def occupant(self) -> Seat:
        if self.seat is None:
            raise AssertionError("nobody sits at this database")
        return self.seat

    def timed(self, args: tuple[object, ...]) -> list[object]:
        instant = self.occupant().clock.instant
        return [instant if arg is StepClock.NOW else arg for arg in args]

    def transaction(
        self, name: str, *, account: AccountId | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        return self._gated(name, lambda: super(GatedDatabase, self).transaction(name, account=account))

    async def run(self, name: str, statement: Statement, *args: object) -> list[Row]:
        seat = self.occupant()
        await seat.gate(name)
        run = super().run
        try:
            rows = await seat.result(lambda: run(name, statement, *self.timed(args)))
        finally:
            seat.has_ended = True
        # Committed on the server, not yet known to its caller: a place of its own to die at.
        await seat.gate(f"{name}: done", level=ANYWHERE)
        return rows

    @asynccontextmanager
    async def _gated(
        self, name: str, open_: Callable[[], AbstractAsyncContextManager[Transaction]]
    ) -> AsyncGenerator[Transaction]:
        seat = self.occupant()
        if seat.level == TRANSACTION:
            await seat.gate(name)
        elif seat.is_over:
            raise asyncio.CancelledError
        if seat.known_results is not None:
            yield self.transaction_type(name, None)  # type: ignore[arg-type]  # Nothing reaches the server.
            return
        try:
            async with open_() as transaction:
                yield transaction
                await seat.gate(f"{name}: commit", level=STATEMENT)
        finally:
            seat.has_ended = True
        await seat.gate(f"{name}: committed", level=ANYWHERE)

    def backend_pid(self) -> int | None:
        """The server process of its only connection."""
        pool = self._connections
        for connection in (*pool._used, *pool._idle):  # pyright: ignore[reportPrivateUsage]  # The seam of the tests, not of the product.
            if not connection.is_closed():
                return connection.get_server_pid()
        return None

    async def settle(self) -> None:
        """Until what was cut off has been rolled back."""
        while self._unfinished:
            await asyncio.wait(self._unfinished)
