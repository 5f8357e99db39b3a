"""A theatre per test: its database is this process's own, and empty before each schedule."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator

import pytest

from tests.interleave.theatre import Theatre
from tests.postgres import TestServer, run
from tests.progress import IS_LONG

GARBAGE_OBJECTS = 100_000


@pytest.fixture(scope="session")
def is_long() -> bool:
    """Whether this is ``make prove``."""
    return IS_LONG


@pytest.fixture(scope="session")
def theatre_dsn(server: TestServer, process_name: str) -> str:
    """A database that no other test uses: schedules leave rows behind, and mutants change its schema."""
    return run(server.create_migrated(f"onevoice_theatre_{process_name}"))


@pytest.fixture
async def theatre(theatre_dsn: str) -> AsyncIterator[Theatre]:
    opened = await Theatre.open(theatre_dsn)
    # A schedule leaves little behind that refers to itself: looking for it every few hundred objects costs a tenth.
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *usual[1:])
    yield opened
    gc.set_threshold(*usual)
    await opened.close()
