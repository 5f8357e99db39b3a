"""Natural batching: at most one statement in flight; whatever came meanwhile goes into the next.

No collecting window: an idle system answers at once, a busy one shares its commits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from onevoice.errors import DataRefused

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Turns single calls into batches for ``perform``, which answers one result per item, in order.

    A batch that the database refuses for its data is repeated item by item, so that one
    poisoned item fails alone. ``perform`` runs to its end even when a caller is cancelled.
    """

    def __init__(
        self, perform: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, items_max: int = 256
    ) -> None:
        self._perform = perform
        self._items_max = items_max
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._flight: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._flight is None:
            self._flight = asyncio.create_task(self._fly())
        return await future

    async def drain(self) -> None:
        """Wait until nothing is waiting or in flight."""
        while self._flight is not None:
            await asyncio.shield(self._flight)

    async def _fly(self) -> None:
        # The look at the queue and the release of the flight are one step: nothing awaits between them.
        while self._waiting:
            count = min(len(self._waiting), self._items_max)
            batch = [self._waiting.popleft() for _ in range(count)]
            await self._answer(batch)
        self._flight = None

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._perform([item for item, _ in batch])
            answers = list(zip(batch, results, strict=True))
        except DataRefused as refused:
            if len(batch) == 1:
                _fail(batch[0][1], refused)
                return
            for single in batch:
                await self._answer([single])
            return
        except Exception as error:  # noqa: BLE001  # Every caller is told; none of them may hang.
            for _, future in batch:
                _fail(future, error)
            return
        for (_, future), result in answers:
            if not future.done():
                future.set_result(result)


def _fail(future: asyncio.Future[Result], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
