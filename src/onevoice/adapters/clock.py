"""Time in production: the database clock rules comparisons, this process only measures durations."""

from __future__ import annotations

import asyncio
import time

# A machine that was suspended has used up its deadlines: the database, which was not, has given them up meanwhile.
# Linux's monotonic clock does not count that time; this one does.
_COUNTS_SUSPENSION = getattr(time, "CLOCK_BOOTTIME", None)


class SystemClock:
    """Implements ports/clock.py; ``now`` is ``None`` so that SQL compares with the database clock."""

    def now(self) -> None:
        return None

    def monotonic(self) -> float:
        if _COUNTS_SUSPENSION is None:
            return time.monotonic()  # noqa: TID251 - This is the port's production side.
        return time.clock_gettime(_COUNTS_SUSPENSION)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - This is the port's production side.
