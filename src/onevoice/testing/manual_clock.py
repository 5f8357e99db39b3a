"""A clock that only a test moves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


async def settle(turns: int = 40) -> None:
    """Let the event loop run what is ready. It cannot see sockets: wait for a named signal there."""
    for _ in range(turns):
        await asyncio.sleep(0)  # noqa: TID251 - Gives way to the loop; no time passes.


class ManualClock:
    """Implements ports/clock.py: time stands still until ``advance``, which wakes sleepers one at a time.

    Each sleeper wakes at its own instant, and what it starts runs before the next one wakes.

    >>> async def main() -> list[tuple[str, float]]:
    ...     clock, woken = ManualClock(), list[tuple[str, float]]()
    ...     async def worker(name: str, seconds: float) -> None:
    ...         await clock.sleep(seconds)
    ...         woken.append((name, clock.monotonic()))
    ...     async with asyncio.TaskGroup() as group:
    ...         group.create_task(worker("late", 2))
    ...         group.create_task(worker("early", 0.5))
    ...         await clock.advance(5)
    ...     return woken
    >>> asyncio.run(main())
    [('early', 0.5), ('late', 2.0)]
    """

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise ValueError("ManualClock needs an aware datetime; give it tzinfo=UTC")
        self._start = start
        self._now = start
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._asleep_count = 0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._start) / timedelta(seconds=1)

    @property
    def sleeper_count(self) -> int:
        """How many calls of ``sleep`` wait for an ``advance``."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        due_at = self._now + timedelta(seconds=seconds)
        if due_at <= self._now:
            await settle(1)
            return
        future = asyncio.get_running_loop().create_future()
        self._asleep_count += 1
        heappush(self._sleepers, (due_at, self._asleep_count, future))
        await future

    def jump(self, seconds: float) -> None:
        """Set the wall clock by so many seconds, forth or back: time that is measured does not notice."""
        span = timedelta(seconds=seconds)
        self._start += span
        self._now += span
        self._sleepers = [(due_at + span, order, future) for due_at, order, future in self._sleepers]

    async def advance(self, by: timedelta | float) -> None:
        """Move time forward; ``by`` is a timedelta or seconds."""
        span = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if span < timedelta(0):
            raise ValueError(
                "time does not go back: advance by zero or more, or set the wall clock with jump()"
            )
        until = self._now + span
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            due_at, _, future = heappop(self._sleepers)
            if future.done():
                continue
            self._now = due_at
            future.set_result(None)
            await settle()
        self._now = until
        await settle()
