"""An agent that says what a test wrote for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from onevoice.testing.gate import CallCount, Gate
from onevoice.vocabulary import OutgoingMessage, Proposal, TurnContext

ScriptedProposal = Proposal | str | Exception | Callable[[TurnContext], Proposal | str]


class ScriptedAgent:
    """Implements ports/agent.py from a script: one entry per call, in order.

    An entry is a proposal, a text, an error to raise, or a function of the context. When the script is
    over, ``otherwise`` answers; without it the call fails. ``contexts`` holds what each call was given.

    >>> async def main() -> None:
    ...     agent = ScriptedAgent("Hello!", otherwise="Anything else?")
    ...     await agent.called(0)
    ...     agent.script("Friday at nine is free.")
    >>> asyncio.run(main())
    """

    def __init__(
        self,
        *script: ScriptedProposal,
        otherwise: ScriptedProposal | None = None,
        in_process: bool = True,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.in_process = in_process
        self.contexts: list[TurnContext] = []
        self.closed = False
        self._otherwise = otherwise
        self._script: deque[tuple[ScriptedProposal, Gate]] = deque()
        self._calls = CallCount(f"the agent {name}")
        for entry in script:
            self.script(entry)

    def script(self, entry: ScriptedProposal, *, held: bool = False) -> Gate:
        """Add the next call's entry. ``held``: the call waits at the returned gate until it is opened."""
        gate = Gate(opened=not held)
        self._script.append((entry, gate))
        return gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until the agent was called so many times in all."""
        await self._calls.reach(count, seconds_max=seconds_max)

    async def propose(self, context: TurnContext) -> Proposal:
        self.contexts.append(context)
        entry = self._otherwise
        gate = Gate(opened=True)
        if self._script:
            entry, gate = self._script.popleft()
        self._calls.note()
        await gate.pass_through()
        if entry is None:
            raise AssertionError(
                f"the agent {self.name} was called {self._calls.count} times, more than scripted"
            )
        return _proposal(entry, context)

    async def close(self) -> None:
        self.closed = True


def _proposal(entry: ScriptedProposal, context: TurnContext) -> Proposal:
    if isinstance(entry, Exception):
        raise entry
    answer = entry if isinstance(entry, Proposal | str) else entry(context)
    if isinstance(answer, str):
        return Proposal(messages=(OutgoingMessage(text=answer),))
    return answer
