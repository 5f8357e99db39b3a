"""The driver's errors leave as ours, name what failed, and hold no values."""

from __future__ import annotations

import asyncio
import traceback

import asyncpg
import pytest

from onevoice.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    DataRefused,
    OnevoiceError,
    StatementFailed,
    StatementInterrupted,
)
from onevoice.store.database import Database, Row
from tests.postgres import TestServer
from tests.store.sample import (
    INSERT,
    SECRET,
    names,
    sql,
)


class TestFailure:
    """The driver's errors leave as ours, and hold no values."""

    @pytest.mark.parametrize(
        ("text", "arguments", "kind"),
        [
            ("select $1::text", (f"{SECRET}\x00",), DataRefused),
            ("select $1::text", (f"{SECRET}\ud800",), DataRefused),
            ("select $1::jsonb", ({"a": f"{SECRET}\x00"},), DataRefused),
            ("select $1::text::uuid", (SECRET,), DataRefused),
            ("select $1::integer", (SECRET,), DataRefused),
            ("select $1::bigint", (2**70,), DataRefused),
            ("insert into channel values ('a', $1, 'b')", (SECRET,), None),
            ("insert into channel values ($1, $2, 'b')", (SECRET, SECRET * 1000), None),
            ("insert into channel (account_id, name, kind, paused_reason) values ('a', 'b', 'c', $1)",
             (SECRET,), StatementFailed),
            ("insert into channel (account_id, name) values ('a', $1)", (SECRET,), StatementFailed),
            ("select nothing from channel where name = $1", (SECRET,), StatementFailed),
            ("select 1", (SECRET,), StatementFailed),
            ("delete from journal where kind = $1", (SECRET,), StatementFailed),
        ],
    )  # fmt: skip
    async def test_no_message_holds_a_value(
        self, text: str, arguments: tuple[object, ...], kind: type[StatementFailed] | None, single: Database
    ) -> None:
        """Neither the message nor the traceback of a failed statement shows what was stored."""
        if kind is None:
            await single.run("write", sql(text), *arguments)
            kind = StatementFailed
        with pytest.raises(kind) as caught:
            await single.run("write", sql(text), *arguments)
        assert SECRET not in "".join(traceback.format_exception_only(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert await names(single) is not None, "the connection is usable"

    async def test_a_constraint_is_named(self, database: Database) -> None:
        """The constraint's name and the SQLSTATE are there to decide by."""
        await database.run("write", INSERT, "acme", "shop")
        with pytest.raises(StatementFailed, match="channel_name_unique") as caught:
            await database.run("write", INSERT, "other", "shop")
        assert (caught.value.constraint, caught.value.sqlstate) == ("channel_name_unique", "23505")

    async def test_a_value_too_long_for_an_index_is_refused(self, database: Database) -> None:
        """A key that no index can hold is a poison item, not a failure of the database."""
        long = "".join(f"{n * 7919:x}" for n in range(20_000))
        with pytest.raises(DataRefused):
            await database.run("write", INSERT, "acme", long)

    async def test_waiting_for_a_lock_ends(self, database: Database, owner: asyncpg.Connection[Row]) -> None:
        """A lock wait is bounded, and its error says that trying again can help."""
        await database.run("write", INSERT, "acme", "shop")

        async def wait() -> None:
            async with database.transaction("second") as second:
                await second.execute(sql("set local lock_timeout = '10ms'"))
                await second.fetch(sql("select 1 from channel for update"))

        async with database.transaction("first") as first:
            await first.fetch(sql("select 1 from channel for update"))
            with pytest.raises(StatementInterrupted) as caught:
                await wait()
        assert caught.value.sqlstate == "55P03"

    async def test_a_deadlock_is_an_interruption(self, database: Database) -> None:
        """The loser of a deadlock may try again; the winner commits."""
        for name in ("one", "two"):
            await database.run("write", INSERT, "acme", name)
        lock = sql("select 1 from channel where name = $1 for update")
        both = asyncio.Barrier(2)

        async def work(first: str, second: str) -> None:
            async with database.transaction("work") as transaction:
                await transaction.execute(lock, first)
                await both.wait()
                await transaction.execute(lock, second)

        results = await asyncio.gather(work("one", "two"), work("two", "one"), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["NoneType", "StatementInterrupted"]


class TestOpen:
    """What can be wrong is told at the start, without the password."""

    @pytest.mark.parametrize(
        ("address", "kind", "words"),
        [
            ("postgresql://user:planted-secret@127.0.0.1:1/x", DatabaseUnavailable, "127.0.0.1:1/x"),
            ("postgresql:///x?host=/nonesuch&password=planted-secret", DatabaseUnavailable, "/nonesuch/x"),
            ("mysql://user:planted-secret@127.0.0.1/x", ConfigurationError, "cannot be read"),
            ("postgresql://user:planted-secret@127.0.0.1:port/x", ConfigurationError, "cannot be read"),
        ],
    )
    async def test_a_wrong_address(self, address: str, kind: type[OnevoiceError], words: str) -> None:
        """The message names the place and keeps the secret."""
        with pytest.raises(kind, match=words) as caught:
            await Database.open(address)
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None

    async def test_an_unknown_database_or_role(self, server: TestServer, database_dsn: str) -> None:
        """A missing database or role is named."""
        with pytest.raises(DatabaseUnavailable, match='database "nonesuch" does not exist'):
            await Database.open(server.database("nonesuch"))
        with pytest.raises(
            DatabaseUnavailable, match="cannot become the role nonesuch; run `onevoice migrate`"
        ):
            await Database.open(database_dsn, role="nonesuch")
