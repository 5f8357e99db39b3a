"""Nudges inside one process: due instants in memory, no task and no timer per nudge.

A nudge that comes between a worker's look and its wait is remembered, so the wait returns at once.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from dataclasses import dataclass, field

from onevoice.ports.clock import Clock
from onevoice.ports.wakeup import Work

# Shorter sleeps make uvloop spin instead of sleeping.
SLEEP_SECONDS_MIN = 0.001


@dataclass(slots=True)
class _Pending:
    """The nudges of one kind of work: distinct due instants, earliest first, and who waits for the next."""

    due_at: list[float] = field(default_factory=list[float])
    waiters: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])


class InProcessWakeup:
    """Implements ports/wakeup.py for workers of one event loop.

    Equal instants count once, and every instant that has passed is taken by the one waiter that wakes:
    it looks for all work that is due. At most ``instants_max`` are remembered per kind of work, the
    earliest ones; what is dropped beyond them is found by the poll.
    """

    def __init__(self, clock: Clock, *, instants_max: int = 1024) -> None:
        self._clock = clock
        self._instants_max = instants_max
        self._pending = {work: _Pending() for work in Work}

    def nudge(self, work: Work, *, in_seconds: float = 0.0) -> None:
        pending = self._pending[work]
        due_at = self._clock.monotonic() + max(0.0, in_seconds)
        position = bisect_right(pending.due_at, due_at)
        if position > 0 and pending.due_at[position - 1] == due_at:
            return
        insort(pending.due_at, due_at)
        if len(pending.due_at) > self._instants_max:
            pending.due_at.pop()
        if pending.due_at[0] == due_at:
            _wake(pending.waiters)

    async def wait(self, work: Work, *, seconds_max: float) -> None:
        pending = self._pending[work]
        until = self._clock.monotonic() + seconds_max
        while True:
            moment = self._clock.monotonic()
            passed_count = bisect_right(pending.due_at, moment)
            if passed_count:
                del pending.due_at[:passed_count]
                return
            if moment >= until:
                return
            wake_at = min(until, pending.due_at[0]) if pending.due_at else until
            await self._sleep_or_nudge(pending, max(SLEEP_SECONDS_MIN, wake_at - moment))

    async def _sleep_or_nudge(self, pending: _Pending, seconds: float) -> None:
        """Return after so many seconds, or sooner when an earlier instant is nudged."""
        waiter = asyncio.get_running_loop().create_future()
        pending.waiters.append(waiter)
        sleeper = asyncio.ensure_future(self._clock.sleep(seconds))
        sleeper.add_done_callback(lambda _: _wake([waiter]))
        try:
            await waiter
        finally:
            pending.waiters.remove(waiter)
            sleeper.cancel()
            await asyncio.wait([sleeper])
        if not sleeper.cancelled():
            sleeper.result()


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
