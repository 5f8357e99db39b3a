"""Bring a database's schema up to date, forwards only.

Every process does it when it starts: one of them works, the others wait and find nothing left to do.
A file is `NNNN_expand_what.sql` (old code may keep running) or `NNNN_contract_what.sql` (it may not), and its
first line says so. A released file never changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import asyncpg

from onevoice.errors import ConfigurationError, MigrationFailed, OnevoiceError, SchemaTooNew
from onevoice.store.failure import DRIVER_ERRORS, describe_dsn, translate, translate_connect_error

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ROLES = ("onevoice_flow", "onevoice_api")

_SERVER_VERSION_MIN = 15
_LOCK_KEY = 0x6F6E_6576_6F69_6365  # "onevoice"
_LOCK_SECONDS_MAX = 120
_TRIES_MAX = 8
_FILE_NAME = re.compile(r"^(\d{4})_(expand|contract)_[a-z0-9_]+\.sql$")
_FIRST_LINE = re.compile(r"^-- Old code may keep running: (yes|no)\b")

_CREATE_TABLE = """
create table if not exists migration (
    number integer not null,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp(),
    constraint migration_pkey primary key (number)
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file; `name` is its file name without the suffix."""

    number: int
    name: str
    sql: str
    checksum: str


def load_migrations() -> list[Migration]:
    """The migrations of this release, in order."""
    folder = files("onevoice.store").joinpath("migrations")
    texts = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
    return [
        parse_migration(name, texts[name], number=number)
        for number, name in enumerate(sorted(texts), start=1)
    ]


def parse_migration(file_name: str, text: str, *, number: int) -> Migration:
    """Check a file's name and first line; `number` is its place in the row."""
    match = _FILE_NAME.match(file_name)
    if match is None or int(match.group(1)) != number:
        raise MigrationFailed(
            f"migration {file_name} must be named {number:04}_expand_what.sql, or contract instead of expand"
        )
    first = _FIRST_LINE.match(text)
    if first is None or (first.group(1) == "yes") != (match.group(2) == "expand"):
        raise MigrationFailed(
            f"migration {file_name} must start with `-- Old code may keep running: yes` when it expands, "
            "`no` when it contracts"
        )
    return Migration(
        number=number,
        name=file_name.removesuffix(".sql"),
        sql=text,
        checksum=hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest(),
    )


async def migrate(dsn: str, *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Apply what is missing and return the names of what this call applied.

    `dsn` names the owner of the schema, not one of the two roles it creates.
    """
    wanted = load_migrations() if migrations is None else list(migrations)
    connection = await _connect(dsn)
    try:
        return await _migrate(connection, wanted, where=describe_dsn(dsn))
    except DRIVER_ERRORS as error:
        failure = _describe(error)
    finally:
        connection.terminate()
    raise failure


async def _connect(dsn: str) -> Connection:
    try:
        return await asyncpg.connect(
            dsn,
            timeout=10.0,
            server_settings={
                "application_name": "onevoice migrate",
                "client_min_messages": "warning",
                "lock_timeout": f"{_LOCK_SECONDS_MAX}s",
                "timezone": "UTC",
            },
        )
    except (asyncpg.ClientConfigurationError, ValueError):
        failure: OnevoiceError = ConfigurationError([f"the database URL cannot be read: {describe_dsn(dsn)}"])
    except DRIVER_ERRORS as error:
        failure = translate_connect_error(error, dsn=dsn, role="its own user")
    raise failure


async def _migrate(connection: Connection, wanted: Sequence[Migration], *, where: str) -> list[str]:
    version = connection.get_server_version()
    if version.major < _SERVER_VERSION_MIN:
        raise MigrationFailed(
            f"the server at {where} is PostgreSQL {version.major}; onevoice needs "
            f"{_SERVER_VERSION_MIN} or newer: upgrade the server"
        )
    await _lock(connection, where=where)
    applied = await _read_applied(connection)
    _compare(applied, wanted)
    missing = [migration for migration in wanted if migration.number not in applied]
    if missing:
        await _check_rights(connection, where=where)
        await connection.execute(_CREATE_TABLE)
    for migration in missing:
        await _apply(connection, migration)
    return [migration.name for migration in missing]


async def _lock(connection: Connection, *, where: str) -> None:
    """Held until the connection ends, so a killed process cannot keep it."""
    try:
        await connection.execute(f"select pg_advisory_lock({_LOCK_KEY})")
    except asyncpg.LockNotAvailableError:
        raise MigrationFailed(
            f"another process has been migrating the database at {where} for {_LOCK_SECONDS_MAX} s; "
            "wait for it, or end its connection (application name `onevoice migrate`)"
        ) from None


async def _read_applied(connection: Connection) -> dict[int, tuple[str, str]]:
    if await connection.fetchval("select to_regclass('migration')") is None:
        return {}
    rows = await connection.fetch("select number, name, checksum from migration order by number")
    return {row["number"]: (row["name"], row["checksum"]) for row in rows}


def _compare(applied: dict[int, tuple[str, str]], wanted: Sequence[Migration]) -> None:
    known = {migration.number: migration for migration in wanted}
    newest = max(known, default=0)
    for number, (name, checksum) in applied.items():
        migration = known.get(number)
        if number > newest:
            if "_expand_" not in name:
                raise SchemaTooNew(
                    f"the database was migrated by a newer onevoice ({name}), with which this one cannot "
                    "work; upgrade this one before it starts"
                )
        elif migration is None or migration.name != name or migration.checksum != checksum:
            raise MigrationFailed(
                f"migration {name} was applied to the database with another content than this onevoice "
                "has; a released migration never changes: install the release that applied it"
            )
    if applied and sorted(applied) != list(range(1, max(applied) + 1)):
        raise MigrationFailed("the table `migration` has a gap; restore the database from a backup")


async def _check_rights(connection: Connection, *, where: str) -> None:
    """Say beforehand what an administrator must do, instead of failing half-way with the server's words."""
    row = await connection.fetchrow(
        """
        select current_user::text as name, quote_ident(current_user) as quoted,
               current_schema()::text as schema,
               (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_create,
               coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_use_schema,
               array(select name from unnest($1::text[]) as wanted (name)
                     where not exists (select from pg_roles where rolname = name)) as absent,
               array(select rolname::text from pg_roles where rolname = any ($1::text[])
                     and not pg_has_role(current_user, oid, 'member with admin option')) as foreign_roles
        """,
        list(ROLES),
    )
    assert row is not None  # noqa: S101 - A select without FROM has one row.
    statements: list[str] = []
    to_create: list[str] = [] if row["may_create"] else row["absent"]
    # Until 15, who may create roles may also grant those of others.
    may_grant = row["may_create"] and connection.get_server_version().major < 16
    foreign: list[str] = [] if may_grant else row["foreign_roles"]
    to_grant = to_create + foreign
    statements += [f"create role {name} nologin;" for name in to_create]
    if to_grant:
        statements.append(f"grant {', '.join(to_grant)} to {row['quoted']} with admin option;")
    if not row["may_use_schema"]:
        statements.append(f"grant usage, create on schema {row['schema'] or 'public'} to {row['quoted']};")
    if statements:
        raise MigrationFailed(
            f"the user {row['name']} of the database at {where} may not do this; "
            "let an administrator run in this database:\n" + "\n".join(statements)
        )


async def _apply(connection: Connection, migration: Migration) -> None:
    for attempt in range(1, _TRIES_MAX + 1):
        try:
            async with connection.transaction():
                await connection.execute(
                    "insert into migration (number, name, checksum) values ($1, $2, $3)",
                    migration.number,
                    migration.name,
                    migration.checksum,
                )
                await connection.execute(migration.sql)
        except asyncpg.PostgresError as error:
            if attempt < _TRIES_MAX and _is_race(error):
                continue
            failure = MigrationFailed(
                f"migration {migration.name} failed: {error.message} ({error.sqlstate}); it was rolled back"
            )
        else:
            return
        raise failure


def _is_race(error: asyncpg.PostgresError) -> bool:
    """Roles belong to the whole cluster, so migrations of two databases can meet in its catalogues."""
    if error.table_name in {"pg_authid", "pg_auth_members"}:
        return True
    return "concurrently" in (error.message or "") or isinstance(error, asyncpg.DeadlockDetectedError)


def _describe(error: BaseException) -> OnevoiceError:
    if isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "").startswith("42"):
        return MigrationFailed(f"the schema cannot be brought up to date: {error.message} ({error.sqlstate})")
    return translate(error, what="migrate")
