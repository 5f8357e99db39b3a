"""Fixtures of every folder: a real PostgreSQL, one migrated database per test process, empty after each test.

The server is the embedded one, or the one that ONEVOICE_TEST_DATABASE_URL names (as a superuser).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import TYPE_CHECKING

import asyncpg
import pytest

from onevoice.store.database import Database
from onevoice.store.embedded import EmbeddedServer
from tests.postgres import TestServer, empty, run

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_numbers = count(1)


@pytest.fixture(scope="session")
def process_name(request: pytest.FixtureRequest) -> str:
    """A name for what belongs to this test process alone, also beside other runs on the same server."""
    worker: dict[str, str] = getattr(request.config, "workerinput", {})
    return f"{worker.get('workerid', 'main')}_{os.getpid()}"


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """One embedded server for all processes of the run."""
    folder = tmp_path_factory.getbasetemp()
    if folder.name.startswith("popen-"):
        folder = folder.parent
    handle = EmbeddedServer.start(folder / "embedded")
    server = TestServer(dsn=handle.dsn)
    # A test's rows need not survive the machine.
    run(server.execute("alter system set fsync = off"))
    run(server.execute("select pg_reload_conf()"))
    yield server
    handle.stop()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> TestServer:
    """The server of this run."""
    dsn = os.environ.get("ONEVOICE_TEST_DATABASE_URL")  # noqa: TID251 - Chooses the tests' server, no setting.
    if dsn:
        return TestServer(dsn=dsn)
    found: TestServer = request.getfixturevalue("embedded_server")
    return found


@pytest.fixture(scope="session")
def database_dsn(server: TestServer, process_name: str) -> Iterator[str]:
    """This process's migrated database, as its owner. Who uses it without `database` empties it himself."""
    name = f"onevoice_test_{process_name}"
    yield run(server.create_migrated(name))
    run(server.drop(name))


@pytest.fixture
async def database(database_dsn: str) -> AsyncIterator[Database]:
    """The flow role's connections to a database without rows."""
    opened = await Database.open(database_dsn)
    yield opened
    await opened.close()
    await empty(database_dsn)


@pytest.fixture
async def owner(database_dsn: str) -> AsyncIterator[Connection]:
    """A superuser's connection to the same database: sees and does everything."""
    connection = await asyncpg.connect(database_dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def empty_database_dsn(server: TestServer, process_name: str) -> AsyncIterator[str]:
    """A database of the test's own, without schema."""
    name = f"onevoice_test_{process_name}_{next(_numbers)}"
    yield await server.create(name)
    await server.drop(name)


@pytest.fixture
async def own_database_dsn(server: TestServer, process_name: str) -> AsyncIterator[str]:
    """A migrated database of the test's own, for tests that kill connections or change the schema."""
    name = f"onevoice_test_{process_name}_{next(_numbers)}"
    yield await server.create_migrated(name)
    await server.drop(name)
