"""A triage decider that decides what a test wrote for it."""

from __future__ import annotations

from collections import deque

from onevoice.testing.gate import CallCount, Gate
from onevoice.vocabulary import TriageDecision, TriageRequest


class ScriptedDecider:
    """Implements ports/triage.py from a script; when it is over, ``otherwise`` decides.

    >>> decider = ScriptedDecider(TriageDecision.MERGE)
    >>> gate = decider.script(TriageDecision.CANCEL_FIRST, held=True)  # The second call waits at this gate.
    """

    def __init__(
        self,
        *script: TriageDecision | Exception,
        otherwise: TriageDecision = TriageDecision.RELEASE_FIRST,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.requests: list[TriageRequest] = []
        self.closed = False
        self._otherwise = otherwise
        self._script: deque[tuple[TriageDecision | Exception, Gate]] = deque()
        self._calls = CallCount(f"the decider {name}")
        for entry in script:
            self.script(entry)

    def script(self, entry: TriageDecision | Exception, *, held: bool = False) -> Gate:
        """Add the next call's decision or error. ``held``: the call waits at the returned gate."""
        gate = Gate(opened=not held)
        self._script.append((entry, gate))
        return gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until the decider was asked so many times in all."""
        await self._calls.reach(count, seconds_max=seconds_max)

    async def decide(self, request: TriageRequest) -> TriageDecision:
        self.requests.append(request)
        entry: TriageDecision | Exception = self._otherwise
        gate = Gate(opened=True)
        if self._script:
            entry, gate = self._script.popleft()
        self._calls.note()
        await gate.pass_through()
        if isinstance(entry, Exception):
            raise entry
        return entry

    async def close(self) -> None:
        self.closed = True
