"""Gates and counts: how a test stops a double at a named place and waits for it there, without sleeping."""

from __future__ import annotations

import asyncio


class Gate:
    """A door in front of one call. The test waits until the call stands before it, then opens it.

    >>> async def main() -> list[str]:
    ...     gate, order = Gate(), list[str]()
    ...     async def call() -> None:
    ...         await gate.pass_through()
    ...         order.append("the call went on")
    ...     task = asyncio.create_task(call())
    ...     await gate.reached()
    ...     order.append("the test saw it wait")
    ...     gate.open()
    ...     await task
    ...     return order
    >>> asyncio.run(main())
    ['the test saw it wait', 'the call went on']
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._reached = asyncio.Event()
        self._opened = asyncio.Event()
        if opened:
            self._opened.set()

    async def pass_through(self) -> None:
        """Called by the double: announce the call and wait until the gate is open."""
        self._reached.set()
        await self._opened.wait()

    async def reached(self, *, seconds_max: float = 5.0) -> None:
        """Wait until a call stands at the gate; fails after ``seconds_max`` of real time."""
        try:
            async with asyncio.timeout(seconds_max):
                await self._reached.wait()
        except TimeoutError:
            raise AssertionError(f"no call reached the gate within {seconds_max:g} s") from None

    def open(self) -> None:
        self._opened.set()


class CallCount:
    """Counts calls, and lets a test wait for the n-th one.

    >>> async def main() -> int:
    ...     calls = CallCount("the agent")
    ...     calls.note()
    ...     calls.note()
    ...     await calls.reach(2)
    ...     return calls.count
    >>> asyncio.run(main())
    2
    """

    def __init__(self, called: str) -> None:
        self.count = 0
        self._called = called
        self._noted = asyncio.Event()

    def note(self) -> None:
        self.count += 1
        self._noted.set()
        self._noted = asyncio.Event()

    async def reach(self, count: int, *, seconds_max: float = 5.0) -> None:
        """Wait for so many calls; fails after ``seconds_max`` of real time."""
        try:
            async with asyncio.timeout(seconds_max):
                while self.count < count:
                    await self._noted.wait()
        except TimeoutError:
            raise AssertionError(
                f"{self._called} was called {self.count} times within {seconds_max:g} s, expected {count}"
            ) from None
