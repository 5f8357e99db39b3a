"""The stage: a runtime on a real database with every port in the test's hands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from onevoice.store.database import Database
from tests.invariants import Seen, find_violations
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection


@pytest.fixture
def settings() -> dict[str, Any]:
    """A module or test overrides this for its own configuration."""
    return {}


@pytest.fixture
async def stage(database: Database, owner: Connection, settings: dict[str, Any]) -> AsyncIterator[Stage]:
    """Every story ends with the invariants: whatever it was about, none of them may be broken."""
    opened = Stage(database, owner, settings)
    await opened.register_channel()
    yield opened
    seen = [Seen(key=sent.key, correlation_id=sent.correlation_id) for sent in opened.all_sent]
    assert await find_violations(owner, seen=seen) == []
