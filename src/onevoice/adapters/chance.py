"""Ids and jitter in production."""

from __future__ import annotations

import random  # noqa: TID251 - This is the port's production side.
from uuid import UUID

from uuid_utils.compat import uuid7  # noqa: TID251 - This is the port's production side.


class SystemChance:
    """Implements ports/chance.py with UUIDv7, whose counter keeps the ids of one process in order."""

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - Jitter spreads retries; nobody's secret depends on it.

    def new_id(self) -> UUID:
        return uuid7()

    def jitter(self) -> float:
        return 0.5 + self._random.random() / 2
