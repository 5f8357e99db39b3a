"""Connections end and places run out; the next call works by itself."""

from __future__ import annotations

import asyncio

import pytest

from onevoice.errors import (
    DatabaseUnavailable,
)
from onevoice.store.connections import Connections
from onevoice.store.database import Database
from tests.store.sample import (
    BACKEND,
    INSERT,
    SLEEP,
    backend,
    kill,
    kill_unnoticed,
    names,
    wait_until_asleep,
)


class TestLoss:
    """Connections end; the next call works by itself."""

    async def test_killed_in_the_middle_of_a_transaction(
        self, killable: Database, own_database_dsn: str
    ) -> None:
        """The caller learns that the database is unavailable, nothing is stored, the next call works."""

        async def work() -> None:
            async with killable.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                row = await transaction.fetch_one(BACKEND)
                assert row is not None
                await kill(own_database_dsn, row["pid"])
                await transaction.execute(INSERT, "acme", "second")

        with pytest.raises(DatabaseUnavailable):
            await work()
        assert await names(killable) == []

    async def test_killed_before_the_commit(self, killable: Database, own_database_dsn: str) -> None:
        """A commit that cannot be sent is an error, never a silent loss."""

        async def work() -> None:
            async with killable.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                row = await transaction.fetch_one(BACKEND)
                assert row is not None
                await kill(own_database_dsn, row["pid"])

        with pytest.raises(DatabaseUnavailable, match="commit of write"):
            await work()
        assert await names(killable) == []

    async def test_killed_during_a_statement(self, killable: Database, own_database_dsn: str) -> None:
        """A running statement ends with the connection's loss."""
        task = asyncio.create_task(killable.run("sleep", SLEEP))
        await kill(own_database_dsn, await wait_until_asleep(own_database_dsn))
        with pytest.raises(DatabaseUnavailable):
            await task
        assert await names(killable) == []

    async def test_idle_connections_that_died_are_replaced(
        self, killable: Database, own_database_dsn: str
    ) -> None:
        """A restart of the server between two calls is not noticed by the second."""
        async with killable.transaction("outer") as outer:
            first = await outer.fetch_one(BACKEND)
            second = await backend(killable)
        assert first is not None
        for pid in (first["pid"], second):
            await kill(own_database_dsn, pid)
        async with killable.transaction("write") as transaction:
            await transaction.execute(INSERT, "acme", "shop")
        assert await names(killable) == ["shop"]

    async def test_an_idle_connection_whose_end_went_unnoticed_is_replaced(
        self, killable: Database, own_database_dsn: str
    ) -> None:
        """A transaction that finds its connection dead at BEGIN starts again on a new one."""
        kill_unnoticed(own_database_dsn, await backend(killable))
        async with killable.transaction("write") as transaction:
            await transaction.execute(INSERT, "acme", "shop")
        assert await names(killable) == ["shop"]

    async def test_a_statement_alone_is_never_repeated(
        self, killable: Database, own_database_dsn: str
    ) -> None:
        """It may have been committed before its answer was lost, so the caller must decide."""
        kill_unnoticed(own_database_dsn, await backend(killable))
        with pytest.raises(DatabaseUnavailable):
            await killable.run("write", INSERT, "acme", "shop")
        await killable.run("write", INSERT, "acme", "shop")

    async def test_a_failed_connection_takes_no_place(self) -> None:
        """While the server is away, each call says so; none of them uses up a place."""
        connections = Connections("postgresql://127.0.0.1:1/x", role="onevoice_flow", connections_max=1)
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable, match="cannot connect"):
                await connections.acquire()
        await connections.close()

    async def test_a_full_pool_says_so(self, database_dsn: str) -> None:
        """Waiting for a connection is bounded, and the message says what to do."""
        connections = Connections(
            database_dsn, role="onevoice_flow", connections_max=1, wait_seconds_max=0.01
        )
        held = await connections.acquire()
        with pytest.raises(DatabaseUnavailable, match="all 1 database connections were busy"):
            await connections.acquire()
        connections.release(held)
        again = await connections.acquire()
        assert again is held
        connections.release(again)
        await connections.close()

    async def test_a_cancelled_waiter_takes_no_place(self, single: Database) -> None:
        """Giving up the wait for a connection does not lose the connection."""
        async with single.transaction("outer"):
            waiter = asyncio.create_task(names(single))
            await asyncio.wait([waiter], timeout=0.01)
            waiter.cancel()
            await asyncio.wait([waiter])
        assert await names(single) == []

    async def test_a_closed_database_refuses(self, database_dsn: str) -> None:
        """After close, a call fails at once instead of opening connections."""
        opened = await Database.open(database_dsn)
        await opened.close()
        with pytest.raises(DatabaseUnavailable, match="stopping"):
            await names(opened)
