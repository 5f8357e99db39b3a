"""The agent behind HTTP that every scenario talks to: each conversation has its own answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from onevoice.entrypoints.simulate.stopwatch import wall_seconds
from onevoice.testing import AgentRequest, LoopbackAgent

Json = dict[str, object]


@dataclass(slots=True, kw_only=True)
class AgentCall:
    """One call: what the agent was asked, when, and what it answered. ``number`` counts from 1."""

    number: int
    turn: str
    texts: tuple[str, ...]
    history: tuple[str, ...]
    began_at: float
    ended_at: float | None = None
    answers: tuple[str, ...] = ()


Answering = Callable[[AgentCall], Awaitable[Json]]


@dataclass(slots=True)
class Lines:
    """One conversation's calls so far and how the next one is answered."""

    answering: Answering
    calls: list[AgentCall] = field(default_factory=list[AgentCall])


class ConversationAgent:
    """Answers each contact as its scenario says; whoever is not in a scenario gets silence."""

    def __init__(self, secret: str) -> None:
        self.server = LoopbackAgent(otherwise=self._answer, secret=secret)
        self._lines: dict[str, Lines] = {}

    def enter(self, contact: str, lines: Lines) -> None:
        self._lines[contact] = lines

    async def _answer(self, request: AgentRequest) -> Mapping[str, object]:
        asked = request.content
        conversation = cast("Json", asked["conversation"])
        contact = str(cast("Json", conversation["contact"])["id"])
        lines = self._lines.get(contact)
        if lines is None:
            return {}
        call = _read_call(asked, number=len(lines.calls) + 1)
        lines.calls.append(call)
        answer = await lines.answering(call)
        call.answers = _texts(answer.get("messages"))
        call.ended_at = wall_seconds()
        return answer


def saying(*texts: str) -> Json:
    """An answer of so many messages."""
    return {"messages": [{"text": text} for text in texts]}


def answering_each(answers: Mapping[str, str]) -> Answering:
    """One reply that answers every message of the burst, at once."""

    async def answer(call: AgentCall) -> Json:
        return saying(" ".join(answers[text] for text in call.texts))

    return answer


def _read_call(asked: Json, *, number: int) -> AgentCall:
    return AgentCall(
        number=number,
        turn=str(cast("Json", asked["turn"])["id"]),
        texts=_texts(asked["messages"]),
        history=_texts(asked["history"]),
        began_at=wall_seconds(),
    )


def _texts(items: object) -> tuple[str, ...]:
    read = cast("list[Json]", items or [])
    return tuple(str(item.get("transcription") or item.get("text") or "") for item in read)
