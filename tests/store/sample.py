"""Statements and waits that the tests of the store share."""

from __future__ import annotations

import subprocess

import asyncpg

from onevoice.store.database import Database
from onevoice.store.embedded.programs import program_folder
from onevoice.store.statements import Statement

SECRET = "planted-secret"


def sql(text: str) -> Statement:
    return Statement(name="statement", sql=text, source="test")


INSERT = sql("insert into channel (account_id, name, kind) values ($1, $2, 'webchat')")
NAMES = sql("select name from channel order by name")
SLEEP = sql("select pg_sleep(20)")
BACKEND = sql("select pg_backend_pid() as pid")


async def names(database: Database) -> list[str]:
    return [row["name"] for row in await database.run("read", NAMES)]


async def backend(database: Database) -> int:
    (row,) = await database.run("read", BACKEND)
    return row["pid"]


async def kill(database_dsn: str, pid: int) -> None:
    """End a connection as an administrator or a crash would, and wait until it has ended."""
    connection = await asyncpg.connect(database_dsn)
    try:
        assert await connection.fetchval("select pg_terminate_backend($1, 5000)", pid)
    finally:
        await connection.close()


def kill_unnoticed(database_dsn: str, pid: int) -> None:
    """The same without a turn of the event loop, so that nothing learns of it before it is used."""
    terminate = f"select pg_terminate_backend({pid}, 5000)"
    psql = str(program_folder() / "psql")
    assert subprocess.check_output([psql, "-XAtc", terminate, database_dsn], text=True) == "t\n"


async def wait_until_asleep(database_dsn: str) -> int:
    """The backend that runs a sleeping statement, once it does."""
    connection = await asyncpg.connect(database_dsn)
    try:
        while True:
            pid = await connection.fetchval(
                "select pid from pg_stat_activity where datname = current_database() "
                "and wait_event = 'PgSleep' and query like 'select pg_sleep(20)%'"
            )
            if pid is not None:
                return int(pid)
    finally:
        await connection.close()
