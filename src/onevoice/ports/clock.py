"""Time, as a port: production leaves comparisons to the database clock, tests own every instant."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """One authority per comparison.

    ``now`` is the parameter of SQL comparisons: ``None`` lets the database clock rule; a test's
    clock returns its own instant. ``monotonic`` (seconds) measures deadlines inside this process; the time for which
    the machine was suspended counts.
    """

    def now(self) -> datetime | None: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
