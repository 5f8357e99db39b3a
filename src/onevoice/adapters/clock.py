"""Time in production: the database clock rules comparisons, this process only measures durations."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements ports/clock.py; ``now`` is ``None`` so that SQL compares with the database clock."""

    def now(self) -> None:
        return None

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - This is the port's production side.

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - This is the port's production side.
