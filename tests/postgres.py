"""Databases for tests: made, migrated, emptied and dropped on whichever server the run uses."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from onevoice.store.migrate import migrate

Result = TypeVar("Result")

_EMPTY_ALL = """
do $$
declare
    name text;
begin
    -- Foreign keys would prescribe an order; emptying everything leaves none of them broken.
    set local session_replication_role = replica;
    for name in
        select quote_ident(relname) from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migration'
    loop
        execute 'delete from ' || name;
    end loop;
end $$
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestServer:
    """A PostgreSQL server on which tests may make databases; `dsn` is a superuser's."""

    dsn: str

    # Pytest would take the class for a test otherwise.
    __test__ = False

    def database(self, name: str) -> str:
        """The same server's address of another database."""
        parts = urlsplit(self.dsn)
        return urlunsplit(parts._replace(path=f"/{name}"))

    async def create(self, name: str) -> str:
        """Make an empty database, in the place of one that an earlier run left."""
        await self.drop(name)
        await self.execute(f'create database "{name}"')
        return self.database(name)

    async def create_migrated(self, name: str) -> str:
        """Make a database with the schema of this release."""
        dsn = await self.create(name)
        await migrate(dsn)
        return dsn

    async def drop(self, name: str) -> None:
        await self.execute(f'drop database if exists "{name}" with (force)')

    async def execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


async def empty(dsn: str) -> None:
    """Delete all rows of a migrated database; DELETE is far quicker than TRUNCATE on small tables."""
    connection = await asyncpg.connect(dsn, server_settings={"lock_timeout": "5s"})
    try:
        await connection.execute(_EMPTY_ALL)
    finally:
        await connection.close()


def run(call: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end from a fixture that has no event loop, leaving the test's loop alone."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(call)
    finally:
        loop.close()
