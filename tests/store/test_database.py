"""The runner commits, rolls back, and never hands on a connection in an unknown state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg
import pytest

from onevoice.errors import (
    StatementFailed,
)
from onevoice.store.database import Database, Row, Transaction
from onevoice.store.statements import Statement
from onevoice.vocabulary import AccountId
from tests.store.sample import (
    INSERT,
    NAMES,
    SLEEP,
    backend,
    names,
    sql,
    wait_until_asleep,
)


class TestTransaction:
    """BEGIN … COMMIT around a block."""

    async def test_it_commits_when_the_block_ends(self, database: Database) -> None:
        """What a block wrote is there for others afterwards, and not before."""
        async with database.transaction("write") as transaction:
            await transaction.execute(INSERT, "acme", "shop")
            assert [row["name"] for row in await transaction.fetch(NAMES)] == ["shop"]
            assert await names(database) == []
        assert await names(database) == ["shop"]

    async def test_it_rolls_back_when_the_block_raises(self, single: Database) -> None:
        """An exception of any kind undoes the block and leaves the connection usable."""

        async def work() -> None:
            async with single.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                raise LookupError

        with pytest.raises(LookupError):
            await work()
        assert await names(single) == []

    async def test_fetch_one_gives_the_first_row_or_none(self, database: Database) -> None:
        """No row is None."""
        async with database.transaction("read") as transaction:
            row = await transaction.fetch_one(sql("select generate_series(1, 3) as n"))
            assert row is not None
            assert row["n"] == 1
            assert await transaction.fetch_one(NAMES) is None

    async def test_a_swallowed_failure_is_not_called_a_commit(self, single: Database) -> None:
        """The server answers COMMIT with a rollback after an error; the block's end must say so."""

        async def work() -> None:
            async with single.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                with pytest.raises(StatementFailed):
                    await transaction.execute(INSERT, "acme", "shop")

        with pytest.raises(StatementFailed, match="write was rolled back"):
            await work()
        assert await names(single) == []

    async def test_it_runs_under_read_committed(self, database: Database) -> None:
        """The level is the one the locking rules are written for, whatever the server's default."""
        async with database.transaction("read") as transaction:
            row = await transaction.fetch_one(sql("show transaction_isolation"))
        assert row is not None
        assert row["transaction_isolation"] == "read committed"

    async def test_a_cancelled_block_is_rolled_back(self, single: Database, database_dsn: str) -> None:
        """Cancelled in the middle of a statement, it frees rows and connection, and leaves no trace."""

        async def work() -> None:
            async with single.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                await transaction.execute(SLEEP)

        task = asyncio.create_task(work())
        await wait_until_asleep(database_dsn)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await names(single) == []
        async with single.transaction("write") as transaction:
            await transaction.execute(INSERT, "acme", "shop")
        assert await names(single) == ["shop"]

    async def test_a_block_cancelled_between_statements_is_rolled_back(self, single: Database) -> None:
        """Cancelled while it waits for something else, it is rolled back as well."""
        started = asyncio.Event()

        async def work() -> None:
            async with single.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await names(single) == []

    async def test_close_waits_for_a_rollback(self, database_dsn: str, database: Database) -> None:
        """A cancelled block holds no lock once the database is closed."""
        opened = await Database.open(database_dsn)
        started = asyncio.Event()

        async def work() -> None:
            async with opened.transaction("write") as transaction:
                await transaction.execute(INSERT, "acme", "shop")
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        await opened.close()
        # The same key would wait for the other transaction, were it still open.
        await database.run("write", INSERT, "acme", "shop")


class TestAccount:
    """Row-level security."""

    @pytest.fixture
    async def api(self, database_dsn: str, database: Database) -> AsyncIterator[Database]:
        for account, name in (("acme", "shop"), ("other", "bar")):
            await database.run("write", INSERT, account, name)
        opened = await Database.open(database_dsn, role="onevoice_api", connections_max=1)
        yield opened
        await opened.close()

    async def test_api_sees_one_account(self, api: Database) -> None:
        """With an account set, the rows of others do not exist."""
        for account, expected in (("acme", ["shop"]), ("other", ["bar"]), ("third", [])):
            async with api.transaction("read", account=AccountId(account)) as transaction:
                assert [row["name"] for row in await transaction.fetch(NAMES)] == expected

    async def test_api_writes_one_account(self, api: Database) -> None:
        """A row of another account is refused."""
        with pytest.raises(StatementFailed, match="row-level security"):
            async with api.transaction("write", account=AccountId("acme")) as transaction:
                await transaction.execute(INSERT, "other", "second")

    async def test_without_an_account_api_sees_nothing(self, api: Database) -> None:
        """Forgetting the account gives no rows or a refusal, also on a connection that had one before."""
        async with api.transaction("read", account=AccountId("acme")) as transaction:
            await transaction.fetch(NAMES)
        async with api.transaction("read") as transaction:
            assert await transaction.fetch(NAMES) == []
        fresh = await api.run("read", NAMES)
        assert fresh == []

    async def test_an_account_with_odd_letters_is_a_value(self, api: Database) -> None:
        """Account ids are data, whatever they hold."""
        account = AccountId("o'hara\\; drop table channel --")
        async with api.transaction("write", account=account) as transaction:
            await transaction.execute(INSERT, account, "odd")
            assert [row["name"] for row in await transaction.fetch(NAMES)] == ["odd"]

    @pytest.mark.parametrize("role", ["onevoice_flow", "onevoice_api"])
    async def test_no_role_can_be_left_or_is_powerful(self, role: str, database_dsn: str) -> None:
        """RESET ROLE stays in the role; it owns nothing, is no superuser and bypasses no policy."""
        opened = await Database.open(database_dsn, role=role, connections_max=1)
        try:
            for escape in ("reset role", "reset all", "discard all"):
                await opened.run("escape", sql(escape))
            (row,) = await opened.run(
                "read",
                sql(
                    "select current_user::text as name, rolsuper, rolbypassrls, rolcreaterole, rolcanlogin,"
                    " (select count(*) from pg_class where relowner = r.oid) as owned"
                    " from pg_roles r where rolname = current_user"
                ),
            )
        finally:
            await opened.close()
        assert tuple(row.values()) == (role, False, False, False, False, 0)


class TestRun:
    """One statement, committed by itself."""

    async def test_it_commits(self, database: Database) -> None:
        """Its effect is there at once."""
        await database.run("write", INSERT, "acme", "shop")
        assert await names(database) == ["shop"]

    async def test_json_and_time_are_values(self, database: Database) -> None:
        """JSON is decoded and encoded, times are aware and in UTC, settings are as promised."""
        value = {"a": [1, "ü", None], "b": {"c": True}}
        (row,) = await database.run(
            "read",
            sql(
                "select $1::jsonb as jsonb, $1::json as json, now() as at, current_setting('timezone') as zone,"
                " current_setting('jit') as jit, current_setting('statement_timeout') as statement,"
                " current_setting('lock_timeout') as lock, current_setting('application_name') as name"
            ),
            value,
        )
        assert row["jsonb"] == value
        assert row["json"] == value
        assert row["at"].utcoffset().total_seconds() == 0
        assert [row[key] for key in ("zone", "jit", "statement", "lock", "name")] == [
            "UTC",
            "off",
            "30s",
            "10s",
            "onevoice",
        ]

    async def test_a_cancelled_statement_leaves_the_connection_usable(
        self, single: Database, database_dsn: str
    ) -> None:
        """The server's statement ends, and the next call gets its own answer."""
        task = asyncio.create_task(single.run("sleep", SLEEP))
        await wait_until_asleep(database_dsn)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (row,) = await single.run("read", sql("select 42 as answer"))
        assert row["answer"] == 42

    async def test_many_callers_share_few_connections(self, killable: Database) -> None:
        """Callers wait their turn; no more connections are opened than allowed."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(backend(killable)) for _ in range(50)]
        assert len({task.result() for task in tasks}) <= 2

    async def test_a_schema_change_is_noticed(self, killable: Database, own_database_dsn: str) -> None:
        """A statement prepared before an expanding migration goes on working after it."""
        every = sql("select * from channel")
        await killable.run("read", every)
        connection = await asyncpg.connect(own_database_dsn)
        await connection.execute("alter table channel add column extra text default 'new'")
        await connection.close()
        await killable.run("write", INSERT, "acme", "shop")
        (row,) = await killable.run("read", every)
        assert row["extra"] == "new"


class _Recorded(Transaction):
    seen: list[str]

    async def fetch(self, statement: Statement, *args: object) -> list[Row]:
        self.seen.append(f"{self.name}.{statement.name}")
        return await super().fetch(statement, *args)


class _Gated(Database):
    """What a test's explorer does: it stands before and after each transaction and each statement."""

    transaction_type = _Recorded
    seen: list[str]

    def transaction(
        self, name: str, *, account: AccountId | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        return self._gate(name, super().transaction(name, account=account))

    @asynccontextmanager
    async def _gate(
        self, name: str, inner: AbstractAsyncContextManager[Transaction]
    ) -> AsyncGenerator[Transaction]:
        self.seen.append(f"before {name}")
        async with inner as transaction:
            yield transaction
        self.seen.append(f"after {name}")

    async def run(self, name: str, statement: Statement, *args: object) -> list[Row]:
        self.seen.append(f"run {name}")
        return await super().run(name, statement, *args)


async def test_every_step_can_be_gated(database: Database, database_dsn: str) -> None:
    """A subclass sees each transaction, each statement in it and each statement alone."""
    seen: list[str] = []
    _Gated.seen = _Recorded.seen = seen
    gated = await _Gated.open(database_dsn)
    async with gated.transaction("write") as transaction:
        await transaction.execute(INSERT, "acme", "shop")
        await transaction.fetch_one(NAMES)
    await gated.run("read", NAMES)
    await gated.close()
    assert seen == ["before write", "write.statement", "write.statement", "after write", "run read"]
