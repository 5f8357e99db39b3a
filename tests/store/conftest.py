"""Temporary folders in which a server may run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Outside pytest's own folder, for the reason that `pytest_configure` in tests/conftest.py gives."""
    with tempfile.TemporaryDirectory(prefix="onevoice-test-") as folder:
        yield Path(folder)
