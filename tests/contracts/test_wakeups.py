"""The wake-ups that are shipped keep the wake-up's contract; the in-process one also keeps its own bounds."""

import asyncio
from datetime import datetime

import pytest

from onevoice.adapters.wakeup.in_process import SLEEP_SECONDS_MIN, InProcessWakeup
from onevoice.ports.wakeup import Wakeup, Work
from onevoice.testing import ManualClock, settle
from tests.contracts.wakeup_contract import WakeupContract, start_wait, stop


class TestInProcess(WakeupContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def wakeup(self, clock: ManualClock) -> Wakeup:
        return InProcessWakeup(clock)


class FinerClock:
    """A clock finer than a microsecond, to see how short a sleep may get."""

    def __init__(self) -> None:
        self.moment = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime | None:
        return None

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds
        await settle(1)


async def test_no_sleep_is_shorter_than_a_millisecond() -> None:
    """An instant a few microseconds ahead is slept to in one millisecond, not spun to."""
    clock = FinerClock()
    wakeup = InProcessWakeup(clock)
    wakeup.nudge(Work.TURN, in_seconds=0.000_002)
    await wakeup.wait(Work.TURN, seconds_max=1)

    assert clock.slept == [SLEEP_SECONDS_MIN]


async def test_the_earliest_instants_are_kept_when_there_are_too_many() -> None:
    """Memory is bounded; what is dropped are the latest instants, which the poll finds."""
    clock = ManualClock()
    wakeup = InProcessWakeup(clock, instants_max=3)
    for seconds in (5, 4, 3, 2, 1):
        wakeup.nudge(Work.TURN, in_seconds=seconds)
    woken = list[float]()

    async def worker() -> None:
        while True:
            await wakeup.wait(Work.TURN, seconds_max=100)
            woken.append(clock.monotonic())

    task = asyncio.create_task(worker())
    await clock.advance(50)

    assert woken == [1.0, 2.0, 3.0]
    await stop(task)


async def test_one_nudge_wakes_one_of_two_workers() -> None:
    """Two workers of one kind share the nudges; the other one sleeps on."""
    clock = ManualClock()
    wakeup = InProcessWakeup(clock)
    tasks = [start_wait(wakeup), start_wait(wakeup)]
    await settle()
    wakeup.nudge(Work.TURN)
    await settle()

    assert sorted(task.done() for task in tasks) == [False, True]
    wakeup.nudge(Work.TURN)
    await settle()
    assert all(task.done() for task in tasks)


async def test_nudges_start_no_tasks_and_waits_leave_none() -> None:
    """A thousand nudges cost no task; a wait's own is gone when it returns or is cancelled."""
    clock = ManualClock()
    wakeup = InProcessWakeup(clock)
    before = asyncio.all_tasks()
    waiting = start_wait(wakeup)
    await settle()
    with_wait = len(asyncio.all_tasks())
    for number in range(1000):
        wakeup.nudge(Work.TURN, in_seconds=5 + number / 1000)

    assert len(asyncio.all_tasks()) == with_wait
    await clock.advance(5)
    assert waiting.done()
    cancelled = start_wait(wakeup, Work.TRIAGE)
    await settle()
    await stop(cancelled)
    assert asyncio.all_tasks() == before
    assert clock.sleeper_count == 0


async def test_a_failing_clock_fails_the_wait() -> None:
    """An error of the clock reaches the worker instead of leaving it asleep."""

    class BrokenClock(FinerClock):
        async def sleep(self, seconds: float) -> None:
            raise RuntimeError("the clock stopped")

    with pytest.raises(RuntimeError, match="the clock stopped"):
        await InProcessWakeup(BrokenClock()).wait(Work.TURN, seconds_max=1)
