"""The database: does it answer, is it new enough, is its schema current, are its rows fenced by account?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from onevoice.entrypoints.doctor.finding import Finding, fault, ok, warning
from onevoice.errors import OnevoiceError, StatementFailed
from onevoice.store import Database, load_statements
from onevoice.store.migrate import ROLES, load_migrations

_VERSION_MIN = 15
_SKEW_MAX = timedelta(seconds=2)
_UNDEFINED_TABLE = "42P01"


async def check_database(dsn: str) -> list[Finding]:
    """Every finding about the server at ``dsn``; later ones only when the earlier ones allow them."""
    statements = load_statements(__package__)
    try:
        database = await Database.open(dsn, role="none", connections_max=1)
    except OnevoiceError as error:
        return [fault("database", str(error), "start it, or correct database.url")]
    try:
        before = _machine_time()
        (server,) = await database.run("doctor", statements["read_server"])
        skew = check_clock(server["at"], before=before, after=_machine_time())
        if server["version_number"] < _VERSION_MIN * 10_000:
            version = f"PostgreSQL {server['version_number'] // 10_000}"
            return [
                fault("database", f"{version} is too old", f"upgrade it to {_VERSION_MIN} or newer"),
                skew,
            ]
        reached = ok("database", f"PostgreSQL {server['version_number'] // 10_000} answers")
        return [reached, skew, *await _check_schema(database)]
    except OnevoiceError as error:
        return [fault("database", str(error), "look into the server's log")]
    finally:
        await database.close()


async def _check_schema(database: Database) -> list[Finding]:
    statements = load_statements(__package__)
    try:
        rows = await database.run("doctor", statements["read_migrations"])
    except StatementFailed as error:
        if error.sqlstate != _UNDEFINED_TABLE:
            raise
        return [fault("migrations", "this database has no schema yet", "run: onevoice migrate")]
    roles = await database.run("doctor", statements["read_roles"])
    unprotected = await database.run("doctor", statements["read_unprotected_tables"])
    applied = {row["number"]: row["checksum"] for row in rows}
    return [
        check_migrations(applied),
        check_roles([dict(row) for row in roles]),
        check_tables([row["name"] for row in unprotected]),
    ]


def check_migrations(applied: Mapping[int, str]) -> Finding:
    """Compare the checksums the database recorded with this release's files."""
    wanted = {migration.number: migration for migration in load_migrations()}
    missing = [migration.name for number, migration in wanted.items() if number not in applied]
    changed = [m.name for number, m in wanted.items() if number in applied and applied[number] != m.checksum]
    newer = [number for number in applied if number not in wanted]
    if changed:
        what = f"{', '.join(changed)} was applied with another content"
        return fault(
            "migrations", what, "install the release that applied it; a released migration never changes"
        )
    if missing:
        return fault(
            "migrations", f"{len(missing)} are missing, from {missing[0]} on", "run: onevoice migrate"
        )
    if newer:
        return warning("migrations", f"{len(newer)} come from a newer onevoice", "upgrade this one soon")
    return ok("migrations", f"all {len(wanted)} are applied")


def check_roles(rows: Sequence[Mapping[str, object]]) -> Finding:
    """Neither role may own tables or pass by row-level security."""
    absent = sorted(set(ROLES) - {str(row["name"]) for row in rows})
    strong = sorted(str(row["name"]) for row in rows if row["is_strong"] or row["owns_tables"])
    if absent:
        return fault("roles", f"{' and '.join(absent)} is missing", "run: onevoice migrate")
    if strong:
        what = f"{' and '.join(strong)} can read every account's rows"
        act = "take SUPERUSER and BYPASSRLS away, and give its tables to the schema's owner"
        return fault("roles", what, act)
    return ok("roles", f"{' and '.join(ROLES)} are neither owner nor superuser")


def check_tables(unprotected: Sequence[str]) -> Finding:
    if unprotected:
        what = f"{', '.join(unprotected)} shows rows of every account"
        return fault(
            "accounts", what, "force row-level security on it; `onevoice migrate` sets it on a new database"
        )
    return ok("accounts", "row-level security is forced on every table with an account")


def check_clock(at: datetime, *, before: datetime, after: datetime) -> Finding:
    """Comparisons use the database's clock; a machine that differs shows wrong times in logs and screens."""
    skew = max(at - after, before - at, timedelta())
    if skew > _SKEW_MAX:
        what = f"the database's clock differs from this machine's by {skew.total_seconds():.0f} s"
        return warning("clock", what, "synchronise both (NTP)")
    return ok("clock", "the database and this machine agree")


def _machine_time() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - The machine's own clock is what is looked at here.
