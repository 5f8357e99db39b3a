"""Fixtures of every folder: a real PostgreSQL, one migrated database per test process, empty after each test.

The server is the embedded one, or the one that ONEVOICE_TEST_DATABASE_URL names (as a superuser).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from onevoice.store.database import Database
from onevoice.store.embedded import EmbeddedServer
from tests.postgres import TestServer, empty, run

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_numbers = count(1)
_folder_key = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the run's folder, outside pytest's own.

    Each pytest run of a user makes that user's temporary folder private anew; as root this would shut out the
    system user under which PostgreSQL runs, in the middle of another run.
    """
    if not hasattr(config, "workerinput"):
        config.stash[_folder_key] = Path(tempfile.mkdtemp(prefix="onevoice-test-"))


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_folder_key, None)
    if folder is not None:
        shutil.rmtree(folder)


# Real processes, browsers and real time: a busy machine misses a bound now and then. What fails again is a fault.
IN_REAL_TIME = ("process", "console", "cli", "bench", "docs", "fuzz")
# A battle is never the same twice: what it finds once is a fault. Only what did not end in time is given more of it.
BY_CHANCE = "prove"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests that depend on the machine's speed more than one run, all others have one; order them by length."""
    here = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""
        if folder in IN_REAL_TIME:
            item.add_marker(pytest.mark.flaky(reruns=2))
        elif folder == BY_CHANCE:
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["not within .* s:"]))
    # The long ones first: no process is left alone with one when all others have nothing more to do.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of pytest-xdist where the run's folder is."""
    node.workerinput["folder_of_run"] = str(node.config.stash[_folder_key])


def _folder_of_run(config: pytest.Config) -> Path:
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    return Path(worker["folder_of_run"]) if worker else config.stash[_folder_key]


@pytest.fixture(scope="session")
def process_name(request: pytest.FixtureRequest) -> str:
    """A name for what belongs to this test process alone, also beside other runs on the same server."""
    worker: dict[str, str] = getattr(request.config, "workerinput", {})
    return f"{worker.get('workerid', 'main')}_{os.getpid()}"


@pytest.fixture(scope="session")
def embedded_server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """One embedded server for all processes of the run."""
    handle = EmbeddedServer.start(_folder_of_run(request.config) / "embedded")
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
