"""Migrations run once each, in order, whoever starts them and how many at once."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import onevoice
from onevoice.errors import ConfigurationError, DatabaseUnavailable, MigrationFailed, SchemaTooNew
from onevoice.store.database import Database
from onevoice.store.migrate import Migration, load_migrations, migrate, parse_migration
from onevoice.store.schema_dump import SCHEMA_FILE, dump_schema
from tests.postgres import TestServer

pytestmark = pytest.mark.timeout(120)

_MIGRATE = "import asyncio, sys; from onevoice.store.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])))"
_NAMES = [migration.name for migration in load_migrations()]


def make(number: int, sql: str, *, kind: str = "expand", what: str = "something") -> Migration:
    head = f"-- Old code may keep running: {'yes' if kind == 'expand' else 'no'}\n"
    return parse_migration(f"{number:04}_{kind}_{what}.sql", head + sql, number=number)


ONE = make(1, "create table one (n integer);")
TWO = make(2, "create table two (n integer);")


async def applied(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("select name from migration order by number")
        return [row["name"] for row in rows]
    finally:
        await connection.close()


async def tables(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "select relname from pg_class where relnamespace = 'public'::regnamespace"
        )
        return {row["relname"] for row in rows}
    finally:
        await connection.close()


async def _migrate_elsewhere(dsn: str) -> str:
    """In another process, as another instance of onevoice would."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _MIGRATE, dsn),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PYTHONPATH": str(Path(onevoice.__path__[0]).parent), "PATH": "/usr/bin:/bin"},
    )
    output, _ = await process.communicate()
    return output.decode().strip()


async def test_twenty_processes_start_at_once(anywhere: str) -> None:
    """Exactly one of them applies each migration; none fails."""
    answers = await asyncio.gather(*(_migrate_elsewhere(anywhere) for _ in range(20)))
    assert sorted(answers) == [str(_NAMES), *["[]"] * 19]
    assert await applied(anywhere) == _NAMES


async def test_databases_of_one_server_do_not_meet(server: TestServer, process_name: str) -> None:
    """Roles belong to the whole server; migrations of several databases at once all succeed."""
    names = [f"onevoice_test_{process_name}_race_{number}" for number in range(5)]
    try:
        addresses = [await server.create(name) for name in names]
        assert await asyncio.gather(*(migrate(dsn) for dsn in addresses)) == [_NAMES] * 5
    finally:
        for name in names:
            await server.drop(name)


async def test_the_map_is_what_the_migrations_add_up_to(anywhere: str) -> None:
    """`schema.sql` is up to date; `make schema` writes it."""
    await migrate(anywhere)
    schema = await asyncio.to_thread(dump_schema, anywhere)
    assert schema == SCHEMA_FILE.read_text(encoding="utf-8"), "run `make schema`"


async def test_only_what_is_missing_is_applied(empty_database_dsn: str) -> None:
    """Each run applies the new ones in order and names them."""
    assert await migrate(empty_database_dsn, migrations=[ONE]) == ["0001_expand_something"]
    assert await migrate(empty_database_dsn, migrations=[ONE, TWO]) == ["0002_expand_something"]
    assert await migrate(empty_database_dsn, migrations=[ONE, TWO]) == []
    assert {"one", "two"} <= await tables(empty_database_dsn)


async def test_a_failing_migration_leaves_no_trace(empty_database_dsn: str) -> None:
    """It is rolled back with its row, the ones before it stay, and the next start tries again."""
    broken = make(2, "create table two (n integer); select 1 / 0;")
    with pytest.raises(MigrationFailed, match=r"0002_expand_something failed: division by zero \(22012\)"):
        await migrate(empty_database_dsn, migrations=[ONE, broken])
    assert await applied(empty_database_dsn) == ["0001_expand_something"]
    assert "two" not in await tables(empty_database_dsn)
    assert await migrate(empty_database_dsn, migrations=[ONE, TWO]) == ["0002_expand_something"]


async def test_a_changed_migration_is_refused(empty_database_dsn: str) -> None:
    """A released migration never changes: neither its content nor its name."""
    await migrate(empty_database_dsn, migrations=[ONE])
    with pytest.raises(MigrationFailed, match="another content"):
        await migrate(empty_database_dsn, migrations=[make(1, "create table other (n integer);"), TWO])
    renamed = make(1, "create table one (n integer);", what="renamed")
    with pytest.raises(MigrationFailed, match="another content"):
        await migrate(empty_database_dsn, migrations=[renamed, TWO])
    assert "two" not in await tables(empty_database_dsn)


async def test_line_ends_are_no_change(empty_database_dsn: str) -> None:
    """A checkout with other line ends has the same migrations."""
    await migrate(empty_database_dsn, migrations=[ONE])
    other = parse_migration(f"{ONE.name}.sql", ONE.sql.replace("\n", "\r\n"), number=1)
    assert await migrate(empty_database_dsn, migrations=[other]) == []


async def test_a_newer_expand_step_may_run_beside_old_code(empty_database_dsn: str) -> None:
    """An old release starts on a schema that only grew."""
    await migrate(empty_database_dsn, migrations=[ONE, TWO])
    assert await migrate(empty_database_dsn, migrations=[ONE]) == []


async def test_a_newer_contract_step_stops_old_code(empty_database_dsn: str) -> None:
    """An old release refuses a schema that no longer has what it needs, whatever was applied after it."""
    contract = make(2, "drop table one;", kind="contract")
    await migrate(empty_database_dsn, migrations=[ONE, contract, make(3, "select 1;")])
    with pytest.raises(SchemaTooNew, match=r"newer onevoice \(0002_contract_something\).*upgrade"):
        await migrate(empty_database_dsn, migrations=[ONE])


async def test_a_gap_is_refused(empty_database_dsn: str) -> None:
    """A database that lacks an older migration is not patched up."""
    await migrate(empty_database_dsn, migrations=[ONE, TWO])
    connection = await asyncpg.connect(empty_database_dsn)
    await connection.execute("delete from migration where number = 1")
    await connection.close()
    with pytest.raises(MigrationFailed, match="gap"):
        await migrate(empty_database_dsn, migrations=[ONE, TWO])


async def test_a_process_that_died_in_the_middle_blocks_nobody(empty_database_dsn: str) -> None:
    """The lock and the half-made migration end with the connection."""
    waiting = make(1, "create table one (n integer); select pg_sleep(20);")
    victim = asyncio.create_task(migrate(empty_database_dsn, migrations=[waiting]))
    observer = await asyncpg.connect(empty_database_dsn)
    try:
        pid = None
        while pid is None:
            pid = await observer.fetchval(
                "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
            )
        assert await observer.fetchval("select pg_terminate_backend($1, 5000)", pid)
    finally:
        await observer.close()
    with pytest.raises((DatabaseUnavailable, MigrationFailed)):
        await victim
    assert await migrate(empty_database_dsn, migrations=[ONE]) == [ONE.name]


async def test_a_wrong_address_is_told() -> None:
    """No server and no address give the same sentences as elsewhere."""
    with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1:1/x"):
        await migrate("postgresql://postgres:planted-secret@127.0.0.1:1/x")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        await migrate("mysql://postgres:planted-secret@127.0.0.1:1/x")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("0001_something.sql", "-- Old code may keep running: yes"),
        ("0002_expand_something.sql", "-- Old code may keep running: yes"),
        ("0001_expand_Something.sql", "-- Old code may keep running: yes"),
        ("0001_expand_something.sql", "-- Old code may keep running: no"),
        ("0001_contract_something.sql", "-- Old code may keep running: yes"),
        ("0001_expand_something.sql", "create table x (n integer);"),
    ],
)
def test_names_and_first_lines_are_checked(name: str, first: str) -> None:
    """A file says in its name and its first line whether old code may keep running."""
    with pytest.raises(MigrationFailed, match=re.escape(name)):
        parse_migration(name, f"{first}\nselect 1;", number=1)


def test_the_releases_own_files_are_well_formed() -> None:
    """Numbers run from 1 without a gap."""
    migrations = load_migrations()
    assert migrations
    assert [migration.number for migration in migrations] == list(range(1, len(migrations) + 1))


class TestPlainOwner:
    """The user of a database who is no superuser, and to whom nothing has been granted."""

    @pytest.fixture(params=["nocreaterole", "createrole"])
    async def plain(
        self, request: pytest.FixtureRequest, each_server: TestServer, process_name: str
    ) -> AsyncIterator[tuple[str, str]]:
        """Such a user, and the administrator's address of an empty database."""
        user = f"onevoice_test_{process_name}_plain"
        dsn = await each_server.create(f"{user}_database")
        await each_server.execute(f"drop role if exists {user}")
        await each_server.execute(f"create role {user} login {request.param} password 'planted-secret'")
        try:
            yield user, dsn
        finally:
            await each_server.drop(f"{user}_database")
            await each_server.execute(f"drop role {user}")

    async def test_it_is_told_what_an_administrator_must_run(self, plain: tuple[str, str]) -> None:
        """The sentence holds the statements; once they are run, everything works."""
        user, dsn = plain
        mine = dsn.replace("://postgres@", f"://{user}:planted-secret@")
        with pytest.raises(MigrationFailed, match="let an administrator run in this database") as caught:
            await migrate(mine)
        sentence, *statements = str(caught.value).splitlines()
        assert user in sentence
        assert "planted-secret" not in sentence
        assert f"grant usage, create on schema public to {user};" in statements
        connection = await asyncpg.connect(dsn)
        await connection.execute("\n".join(statements))
        await connection.close()
        assert await migrate(mine) == _NAMES
        assert await migrate(mine) == []
        opened = await Database.open(mine)
        await opened.close()

    async def test_roles_that_do_not_exist_yet_are_in_the_sentence(
        self, plain: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who may not create roles is told to have them created and granted."""
        user, dsn = plain
        monkeypatch.setattr("onevoice.store.migrate.ROLES", ("onevoice_absent",))
        with pytest.raises(MigrationFailed) as caught:
            await migrate(dsn.replace("://postgres@", f"://{user}:planted-secret@"))
        connection = await asyncpg.connect(dsn)
        may_create = await connection.fetchval("select rolcreaterole from pg_roles where rolname = $1", user)
        await connection.close()
        assert ("create role onevoice_absent nologin;" in str(caught.value)) is not may_create
        assert (f"grant onevoice_absent to {user} with admin option;" in str(caught.value)) is not may_create


async def test_an_old_server_is_refused(empty_database_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the server's version and the oldest that works."""
    monkeypatch.setattr("onevoice.store.migrate._SERVER_VERSION_MIN", 99)
    with pytest.raises(MigrationFailed, match=r"is PostgreSQL \d+; onevoice needs 99 or newer"):
        await migrate(empty_database_dsn)


async def test_waiting_for_another_migration_ends(
    empty_database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that holds the lock for too long is named, and what to do about it."""
    monkeypatch.setattr("onevoice.store.migrate._LOCK_SECONDS_MAX", 1)
    holder = await asyncpg.connect(empty_database_dsn)
    try:
        await holder.execute(f"select pg_advisory_lock({0x6F6E_6576_6F69_6365})")
        with pytest.raises(MigrationFailed, match="another process has been migrating"):
            await migrate(empty_database_dsn)
    finally:
        await holder.close()
    assert await migrate(empty_database_dsn) == _NAMES
