"""Connections and transactions: the one place every SQL statement of the product passes.

A test gates, delays or crashes each step by a subclass: `Database.run`, `Database.transaction` and, through
`transaction_type`, each statement inside a transaction. Production code has no hooks of its own for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Self

from asyncpg import Record as Row

from onevoice.errors import DatabaseUnavailable, StatementFailed
from onevoice.store.connections import Connection, Connections
from onevoice.store.failure import translated
from onevoice.store.statements import Statement
from onevoice.vocabulary import AccountId

__all__ = ["Database", "Row", "Transaction"]

_BEGIN = "begin isolation level read committed"
_SET_ACCOUNT = "select set_config('onevoice.account_id', $1, true)"
_UNFINISHED_SECONDS_MAX = 5.0


class Transaction:
    """An open transaction. It is committed when its block ends and rolled back when the block raises."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self._connection = connection

    async def fetch(self, statement: Statement, *args: object) -> list[Row]:
        """Run a statement and return its rows."""
        return await translated(
            self._connection.fetch(statement.sql, *args), what=f"{statement.name} in {self.name}"
        )

    async def fetch_one(self, statement: Statement, *args: object) -> Row | None:
        """Run a statement and return its first row, if it has one."""
        rows = await self.fetch(statement, *args)
        return rows[0] if rows else None

    async def execute(self, statement: Statement, *args: object) -> None:
        """Run a statement whose rows nobody reads."""
        await self.fetch(statement, *args)


class Database:
    """A few owned connections to PostgreSQL, all under one role."""

    transaction_type: type[Transaction] = Transaction

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._unfinished: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, dsn: str, *, role: str = "onevoice_flow", connections_max: int = 8) -> Self:
        """Open the first connection, so that a wrong address or role is told at the start.

        The role is set as a start-up setting: `RESET ROLE` cannot leave it.
        """
        connections = Connections(dsn, role=role, connections_max=connections_max)
        connection = await connections.acquire()
        connections.release(connection)
        return cls(connections)

    def transaction(
        self, name: str, *, account: AccountId | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        """BEGIN … COMMIT under READ COMMITTED; with an account, row-level security shows only its rows."""
        return self._transaction(name, account)

    async def run(self, name: str, statement: Statement, *args: object) -> list[Row]:
        """Run one statement, committed by itself, in one round trip."""
        connection = await self._connections.acquire()
        try:
            rows = await translated(
                connection.fetch(statement.sql, *args), what=f"{statement.name} in {name}"
            )
        except DatabaseUnavailable:
            self._connections.lost(connection)
            raise
        except StatementFailed:
            self._connections.release(connection)
            raise
        except BaseException:
            self._finish_later(connection)
            raise
        self._connections.release(connection)
        return rows

    async def close(self) -> None:
        """Wait for cancelled work to be rolled back, then close every connection."""
        while self._unfinished:
            await asyncio.wait(self._unfinished)
        await self._connections.close()

    @asynccontextmanager
    async def _transaction(self, name: str, account: AccountId | None) -> AsyncGenerator[Transaction]:
        connection = await self._begin(name, account)
        try:
            yield self.transaction_type(name, connection)
        except Exception:
            await self._roll_back(connection)
            raise
        except BaseException:
            self._finish_later(connection)
            raise
        await self._commit(name, connection)

    async def _begin(self, name: str, account: AccountId | None) -> Connection:
        connection = await self._connections.acquire()
        try:
            await self._start(connection, name, account)
        except DatabaseUnavailable:
            # Nothing has happened yet: a connection that died while it was idle is replaced silently.
            connection = await self._connections.acquire()
            await self._start(connection, name, account)
        return connection

    async def _start(self, connection: Connection, name: str, account: AccountId | None) -> None:
        try:
            await translated(connection.execute(_BEGIN), what=name)
            if account is not None:
                await translated(connection.fetch(_SET_ACCOUNT, account), what=name)
        except DatabaseUnavailable:
            self._connections.lost(connection)
            raise
        except StatementFailed:
            await self._roll_back(connection)
            raise
        except BaseException:
            self._finish_later(connection)
            raise

    async def _commit(self, name: str, connection: Connection) -> None:
        try:
            status = await translated(connection.execute("commit"), what=f"commit of {name}")
        except DatabaseUnavailable:
            self._connections.lost(connection)
            raise
        except StatementFailed:
            # A deferred constraint: the server has rolled back.
            self._connections.release(connection)
            raise
        except BaseException:
            self._finish_later(connection)
            raise
        self._connections.release(connection)
        if status != "COMMIT":
            raise StatementFailed(f"{name} was rolled back because one of its statements had failed")

    async def _roll_back(self, connection: Connection) -> None:
        """Never raises for the database's sake: the reason for the rollback is what the caller must see."""
        if connection.is_closed():
            self._connections.lost(connection)
            return
        try:
            await translated(connection.execute("rollback"), what="rollback")
        except (DatabaseUnavailable, StatementFailed):
            self._connections.lost(connection)
        except BaseException:
            self._finish_later(connection)
            raise
        else:
            self._connections.release(connection)

    def _finish_later(self, connection: Connection) -> None:
        """Roll back in the background: a cancelled caller must not wait, its rows must not stay locked."""
        task = asyncio.get_running_loop().create_task(self._finish(connection), name="onevoice rollback")
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    async def _finish(self, connection: Connection) -> None:
        try:
            await translated(connection.execute("rollback", timeout=_UNFINISHED_SECONDS_MAX), what="rollback")
        except (DatabaseUnavailable, StatementFailed):
            self._connections.lost(connection)
        except BaseException:
            self._connections.discard(connection)
            raise
        else:
            self._connections.release(connection)
