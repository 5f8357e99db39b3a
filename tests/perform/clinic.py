"""An agent with write tools, in a test's hands: each turn is answered by a function of the test."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

from onevoice import writes
from onevoice.testing import Gate
from onevoice.vocabulary import OutgoingMessage, Proposal, TurnContext
from tests.perform.stage import Stage

Answer = Callable[[TurnContext], Awaitable[Proposal | str]]


class Diary:
    """The world that a write tool changes. A booking passes ``door`` before it is written down."""

    def __init__(self) -> None:
        self.booked: list[str] = []
        self.door = Gate(opened=True)
        self.breaks_with: Exception | None = None

    @writes
    async def book(self, day: str) -> str:
        """Book a day."""
        await self.door.pass_through()
        if self.breaks_with is not None:
            raise self.breaks_with
        self.booked.append(day)
        return f"booked {day}"

    @writes(retry_safe=True)
    async def confirm(self, day: str) -> str:
        """Book a day; booked twice is booked once."""
        await self.door.pass_through()
        if day not in self.booked:
            self.booked.append(day)
        return f"confirmed {day}"


class ToolAgent:
    """Implements ports/agent.py; ``answers`` are used one per turn, then every turn is answered ``Certo!``."""

    name = "tools"
    in_process = True

    def __init__(self, *answers: Answer) -> None:
        self.contexts: list[TurnContext] = []
        self.answers = deque(answers)

    async def propose(self, context: TurnContext) -> Proposal:
        self.contexts.append(context)
        answer = await self.answers.popleft()(context) if self.answers else "Certo!"
        return answer if isinstance(answer, Proposal) else Proposal(messages=(OutgoingMessage(text=answer),))

    async def close(self) -> None:
        return None


def employ(stage: Stage, *answers: Answer) -> ToolAgent:
    """Put an agent with tools on the stage."""
    agent = ToolAgent(*answers)
    stage.runtime = replace(stage.runtime, agent=agent)
    return agent


async def write_states(stage: Stage) -> list[tuple[str, str, str | None]]:
    """Tool, state and reason of every effect, oldest first."""
    rows = await stage.owner.fetch("select tool, state, reason from effect order by started_at, id")
    return [(row["tool"], row["state"], row["reason"]) for row in rows]


async def told(stage: Stage) -> list[bool]:
    rows = await stage.owner.fetch("select told_at from effect order by started_at, id")
    return [row["told_at"] is not None for row in rows]


def count(stage: Stage, name: str, **labels: str) -> float:
    """A counter of the stage's telemetry."""
    value = stage.runtime.telemetry.registry.get_sample_value(f"onevoice_{name}_total", labels or None)
    return value or 0.0
