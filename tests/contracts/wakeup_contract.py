"""What every wake-up promises (ports/wakeup.py). A subclass adds ``clock`` and ``wakeup`` fixtures."""

from __future__ import annotations

import asyncio

from onevoice.ports.wakeup import Wakeup, Work
from onevoice.testing import ManualClock, settle


def start_wait(wakeup: Wakeup, work: Work = Work.TURN, *, seconds_max: float = 10.0) -> asyncio.Task[None]:
    return asyncio.create_task(wakeup.wait(work, seconds_max=seconds_max))


async def stop(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


class WakeupContract:
    async def test_a_nudge_ends_a_wait(self, wakeup: Wakeup) -> None:
        """A worker that waits goes on at once when there is work."""
        waiting = start_wait(wakeup)
        await settle()
        wakeup.nudge(Work.TURN)
        await settle()

        assert waiting.done()

    async def test_a_nudge_before_the_wait_is_not_lost(self, wakeup: Wakeup) -> None:
        """Work that came up between a worker's look and its wait ends the wait at once."""
        wakeup.nudge(Work.TURN)
        waiting = start_wait(wakeup)
        await settle()

        assert waiting.done()

    async def test_without_a_nudge_the_wait_lasts_its_maximum(
        self, wakeup: Wakeup, clock: ManualClock
    ) -> None:
        """Losing every nudge costs one poll interval and no more."""
        waiting = start_wait(wakeup, seconds_max=10.0)
        await clock.advance(9.999)

        assert not waiting.done()

        await clock.advance(0.001)
        assert waiting.done()

    async def test_work_of_later_ends_the_wait_when_it_falls_due(
        self, wakeup: Wakeup, clock: ManualClock
    ) -> None:
        """A nudge for later wakes nobody before its instant."""
        waiting = start_wait(wakeup)
        await settle()
        wakeup.nudge(Work.TURN, in_seconds=5.0)
        await clock.advance(4.999)

        assert not waiting.done()

        await clock.advance(0.001)
        assert waiting.done()

    async def test_work_that_fell_due_with_nobody_waiting_is_remembered(
        self, wakeup: Wakeup, clock: ManualClock
    ) -> None:
        """A worker that was busy when the instant passed goes on at once."""
        wakeup.nudge(Work.TURN, in_seconds=5.0)
        await clock.advance(7)
        waiting = start_wait(wakeup)
        await settle()

        assert waiting.done()

    async def test_sooner_work_does_not_hide_later_work(self, wakeup: Wakeup, clock: ManualClock) -> None:
        """After the earlier instant the later one still ends the next wait."""
        wakeup.nudge(Work.TURN, in_seconds=6.0)
        first = start_wait(wakeup)
        await settle()
        wakeup.nudge(Work.TURN, in_seconds=2.0)
        await clock.advance(2)
        assert first.done()
        second = start_wait(wakeup)
        await clock.advance(3.999)

        assert not second.done()

        await clock.advance(0.001)
        assert second.done()

    async def test_many_nudges_are_one(self, wakeup: Wakeup, clock: ManualClock) -> None:
        """A worker looks once for all of them, then waits again."""
        for _ in range(100):
            wakeup.nudge(Work.TURN)
        first = start_wait(wakeup)
        await settle()
        second = start_wait(wakeup)
        await clock.advance(1)

        assert first.done()
        assert not second.done()
        await stop(second)

    async def test_instants_that_passed_together_are_one(self, wakeup: Wakeup, clock: ManualClock) -> None:
        """A worker that was busy over several instants looks once for all of them."""
        for seconds in (1.0, 2.0, 3.0):
            wakeup.nudge(Work.TURN, in_seconds=seconds)
        await clock.advance(5)
        first = start_wait(wakeup)
        await settle()
        second = start_wait(wakeup)
        await settle()

        assert first.done()
        assert not second.done()
        await stop(second)

    async def test_kinds_of_work_wake_their_own_workers(self, wakeup: Wakeup) -> None:
        """A nudge for one kind leaves the others asleep."""
        turn, outbox, triage = (start_wait(wakeup, work) for work in (Work.TURN, Work.OUTBOX, Work.TRIAGE))
        await settle()
        wakeup.nudge(Work.OUTBOX)
        await settle()

        assert [task.done() for task in (turn, outbox, triage)] == [False, True, False]
        await stop(turn, triage)

    async def test_a_cancelled_wait_takes_no_nudge_with_it(self, wakeup: Wakeup) -> None:
        """A nudge that meets a wait being cancelled is left for the next one."""
        cancelled = start_wait(wakeup)
        await settle()
        wakeup.nudge(Work.TURN)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        waiting = start_wait(wakeup)
        await settle()

        assert waiting.done()

    async def test_a_nudge_at_any_step_of_a_workers_round_is_found(self, wakeup: Wakeup) -> None:
        """Wherever between look and wait the work appears, the worker sees it without the poll."""
        for steps_before in range(12):
            work, found = asyncio.Event(), asyncio.Event()

            async def worker(work: asyncio.Event = work, found: asyncio.Event = found) -> None:
                while True:
                    await settle(2)
                    if work.is_set():
                        found.set()
                        return
                    await settle(2)
                    await wakeup.wait(Work.TURN, seconds_max=3600)

            task = asyncio.create_task(worker())
            await settle(steps_before)
            work.set()
            wakeup.nudge(Work.TURN)
            await settle()

            assert found.is_set(), f"lost after {steps_before} steps"
            await task
            await self._drain(wakeup)

    async def _drain(self, wakeup: Wakeup) -> None:
        """Take what the round before left, so that rounds do not help each other."""
        leftover = start_wait(wakeup, seconds_max=3600)
        await settle()
        await stop(leftover)
