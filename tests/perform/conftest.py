"""The stage: a runtime on a real database with every port in the test's hands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from onevoice.store.database import Database
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection


@pytest.fixture
def settings() -> dict[str, Any]:
    """A module or test overrides this for its own configuration."""
    return {}


@pytest.fixture
async def stage(database: Database, owner: Connection, settings: dict[str, Any]) -> Stage:
    return Stage(database, owner, settings)
