"""The manual clock: sleepers wake one at a time, each at its own instant."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from onevoice.testing import ManualClock, settle


async def test_sleepers_wake_in_the_order_of_their_instants() -> None:
    """Two sleepers that started in the wrong order wake in the right one, each seeing its own instant."""
    clock, woken = ManualClock(), list[tuple[str, float]]()

    async def worker(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        group.create_task(worker("late", 3))
        group.create_task(worker("early", 1))
        await clock.advance(10)

    assert woken == [("early", 1.0), ("late", 3.0)]
    assert clock.monotonic() == 10.0


async def test_work_that_a_sleeper_starts_runs_before_the_next_sleeper_wakes() -> None:
    """A sleep started by a woken task counts from that task's instant, inside the same advance."""
    clock, woken = ManualClock(), list[float]()

    async def ticker() -> None:
        for _ in range(3):
            await clock.sleep(1)
            woken.append(clock.monotonic())

    task = asyncio.create_task(ticker())
    await clock.advance(timedelta(seconds=2.5))

    assert woken == [1.0, 2.0]
    assert clock.sleeper_count == 1
    await clock.advance(0.5)
    assert woken == [1.0, 2.0, 3.0]
    await task


async def test_a_sleeper_at_the_same_instant_waits_for_its_turn() -> None:
    """Equal instants wake in the order in which the sleeps began."""
    clock, woken = ManualClock(), list[str]()

    async def worker(name: str) -> None:
        await clock.sleep(1)
        woken.append(name)

    tasks = [asyncio.create_task(worker(name)) for name in ("first", "second")]
    await clock.advance(1)

    assert woken == ["first", "second"]
    assert all(task.done() for task in tasks)


async def test_nobody_wakes_before_time() -> None:
    """An advance that ends a microsecond early wakes nobody."""
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(1))
    await clock.advance(timedelta(seconds=1) - timedelta(microseconds=1))

    assert not task.done()

    await clock.advance(timedelta(microseconds=1))
    assert task.done()


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    """A cancelled sleep neither wakes nor counts."""
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(1))
    await settle()
    task.cancel()
    await asyncio.wait([task])

    assert clock.sleeper_count == 0

    await clock.advance(2)
    assert task.cancelled()


@pytest.mark.parametrize("seconds", [0, -1, 1e-9])
async def test_a_sleep_of_nothing_gives_way_and_returns(seconds: float) -> None:
    """A sleep shorter than the clock can count does not hang until an advance."""
    async with asyncio.timeout(1):
        await ManualClock().sleep(seconds)


async def test_now_and_monotonic_move_together() -> None:
    """Both scales advance by the same span from the start that was given."""
    start = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
    clock = ManualClock(start)
    await clock.advance(0.25)

    assert clock.now() == start + timedelta(milliseconds=250)
    assert clock.monotonic() == 0.25


async def test_time_does_not_go_back() -> None:
    """A negative advance is refused."""
    with pytest.raises(ValueError, match="does not go back"):
        await ManualClock().advance(-1)


async def test_a_jump_sets_the_wall_clock_only() -> None:
    """Whoever sleeps sleeps as long as before, and time that is measured goes on."""
    clock = ManualClock()
    start, woken = clock.now(), list[float]()

    async def sleeper() -> None:
        await clock.sleep(5)
        woken.append(clock.monotonic())

    task = asyncio.create_task(sleeper())
    await clock.advance(1)
    clock.jump(-3600)
    assert clock.now() == start + timedelta(seconds=1 - 3600)
    assert clock.monotonic() == 1.0
    await clock.advance(3.9)
    assert woken == []
    await clock.advance(0.2)
    await task

    assert woken == [5.0]


def test_a_naive_start_is_refused() -> None:
    """A start without a time zone is a mistake that says what to do."""
    with pytest.raises(ValueError, match="tzinfo=UTC"):
        ManualClock(datetime(2026, 12, 1, 8, 0))  # noqa: DTZ001 - The mistake under test.
