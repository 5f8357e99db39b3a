"""Calls share their commits: whatever becomes of one of them, every caller is answered, and the next is served."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from onevoice.errors import DatabaseUnavailable, DataRefused
from onevoice.flow.batch import Batcher
from onevoice.testing.gate import Gate


class _Perform:
    """Doubles numbers; refuses odd batches as a database would, and notes every batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = Gate(opened=True)
        self.poison: set[int] = set()
        self.errors: list[Exception] = []
        self.short = False

    async def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(items))
        await self.gate.pass_through()
        if self.errors:
            raise self.errors.pop(0)
        if self.poison & set(items):
            raise DataRefused
        return [item * 2 for item in items][int(self.short) :]


@pytest.fixture
def perform() -> _Perform:
    return _Perform()


async def test_what_comes_during_a_flight_goes_into_the_next(perform: _Perform) -> None:
    """The first goes alone and at once; those that waited share one batch."""
    perform.gate = Gate()
    batcher = Batcher(perform)
    first = asyncio.create_task(batcher.submit(1))
    await perform.gate.reached()
    rest = [asyncio.create_task(batcher.submit(number)) for number in (2, 3, 4)]
    await asyncio.gather(*(asyncio.wait([task], timeout=0) for task in rest))
    perform.gate.open()

    assert await asyncio.gather(first, *rest) == [2, 4, 6, 8]
    assert perform.batches == [[1], [2, 3, 4]]


async def test_a_batch_is_bounded(perform: _Perform) -> None:
    """More than so many go into several."""
    batcher = Batcher(perform, items_max=3)

    assert await asyncio.gather(*(batcher.submit(number) for number in range(7))) == [0, 2, 4, 6, 8, 10, 12]
    assert [len(batch) for batch in perform.batches] == [3, 3, 1]


async def test_a_poisoned_item_fails_alone(perform: _Perform) -> None:
    """The batch is repeated item by item."""
    perform.poison = {2}
    batcher = Batcher(perform)

    results = await asyncio.gather(*(batcher.submit(n) for n in (1, 2, 3)), return_exceptions=True)

    assert results[0] == 2
    assert isinstance(results[1], DataRefused)
    assert results[2] == 6
    assert perform.batches == [[1, 2, 3], [1], [2], [3]]


async def test_an_error_is_told_to_all_and_ends_nothing(perform: _Perform) -> None:
    """The database was away: every caller knows, and the next call is served."""
    perform.errors = [DatabaseUnavailable()]
    batcher = Batcher(perform)

    results = await asyncio.gather(*(batcher.submit(n) for n in (1, 2)), return_exceptions=True)

    assert all(isinstance(result, DatabaseUnavailable) for result in results)
    assert await batcher.submit(3) == 6


async def test_too_few_answers_leave_nobody_waiting(perform: _Perform) -> None:
    """A step that breaks its promise is told of it; the batcher goes on."""
    perform.short = True
    batcher = Batcher(perform)
    results = await asyncio.gather(*(batcher.submit(n) for n in (1, 2)), return_exceptions=True)
    assert all(isinstance(result, ValueError) for result in results)

    perform.short = False
    assert await batcher.submit(3) == 6


async def test_a_cancelled_caller_does_not_stop_the_others(perform: _Perform) -> None:
    """The work runs to its end; only the one who left is not answered."""
    perform.gate = Gate()
    batcher = Batcher(perform)
    tasks = [asyncio.create_task(batcher.submit(number)) for number in (1, 2)]
    await perform.gate.reached()
    tasks[0].cancel()
    perform.gate.open()
    await batcher.drain()

    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1] == 4


async def test_drain_waits_for_what_is_under_way(perform: _Perform) -> None:
    """And returns at once when nothing is."""
    batcher = Batcher(perform)
    await batcher.drain()
    task = asyncio.create_task(batcher.submit(1))
    await asyncio.wait([task], timeout=0)
    await batcher.drain()

    assert await task == 2
