"""Temporary folders in which a server may run, and databases with few connections."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from onevoice.store.database import Database


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Outside pytest's own folder, for the reason that `pytest_configure` in tests/conftest.py gives."""
    with tempfile.TemporaryDirectory(prefix="onevoice-test-") as folder:
        yield Path(folder)


@pytest.fixture
async def killable(own_database_dsn: str) -> AsyncIterator[Database]:
    """A database of the test's own, whose connections it may kill."""
    opened = await Database.open(own_database_dsn, connections_max=2)
    yield opened
    await opened.close()


@pytest.fixture
async def single(database_dsn: str, database: Database) -> AsyncIterator[Database]:
    """One connection, so that a connection in a bad state is met by the next call."""
    opened = await Database.open(database_dsn, connections_max=1)
    yield opened
    await opened.close()
