"""What is neither decided nor derived: new ids and jitter. A port, so that a run can be replayed."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID


class Chance(Protocol):
    def new_id(self) -> UUID:
        """A new id; later ones sort after earlier ones of the same process."""
        ...

    def jitter(self) -> float:
        """A factor in [0.5, 1.0) for a back-off, so that many retries do not meet."""
        ...
