"""Channel, agent and decider of one seat: each call is a gate, each answer a choice, each effect is on record."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onevoice
from onevoice.errors import AgentError, TranscriptionFailed
from onevoice.ports.channel import (
    Accepted,
    ChannelError,
    Delivery,
    MediaRef,
    MediaStream,
    NotSent,
    Outcome,
    OutcomeUnknown,
    Part,
    Refused,
)
from onevoice.ports.transcriber import Audio, Transcript
from onevoice.testing import RecordingChannel
from onevoice.vocabulary import (
    ErrorAction,
    HandoffRequest,
    Media,
    OutgoingMessage,
    Proposal,
    TriageDecision,
    TriageRequest,
    TurnContext,
)

if TYPE_CHECKING:
    from tests.interleave.gates import Seat, StepClock
    from tests.interleave.world import World

RETRY = Refused(error=ChannelError(action=ErrorAction.RETRY, code="500", detail="try again", retries_max=5))
DROP = Refused(error=ChannelError(action=ErrorAction.DROP, code="131026", detail="undeliverable"))
TEMPLATE = Refused(
    error=ChannelError(action=ErrorAction.NEEDS_TEMPLATE, code="131047", detail="window closed")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A message the customer has got, in the order in which they got it."""

    key: str
    text: str
    correlation_id: str
    is_ai: bool


@dataclass(slots=True)
class Record:
    """The outside world: what it saw, and what must never have happened. No part of onevoice writes it."""

    seen: list[Seen] = field(default_factory=list[Seen])
    performed: list[str] = field(default_factory=list[str])
    violations: list[str] = field(default_factory=list[str])
    accepted_webhooks: list[str] = field(default_factory=list[str])
    agent_failed: bool = False
    triage_read: set[int] = field(default_factory=set[int])

    def describe(self) -> str:
        return repr((self.seen, self.performed, self.violations, sorted(self.accepted_webhooks)))


def is_past(clock: StepClock, deadline: float) -> bool:
    """The sender's last look before the first byte."""
    return clock.monotonic() >= deadline


# What the channel may answer, by name: the outcome told, and whether the customer got the message.
OUTCOMES: dict[str, tuple[Callable[[str], Outcome], bool]] = {
    "accepted": (lambda external_id: Accepted(external_id=external_id), True),
    "timed out but delivered": (lambda _: OutcomeUnknown(reason="timeout"), True),
    "timed out and lost": (lambda _: OutcomeUnknown(reason="timeout"), False),
    "refused": (lambda _: RETRY, False),
    "dropped": (lambda _: DROP, False),
    "window closed": (lambda _: TEMPLATE, False),
}


class GatedChannel(RecordingChannel):
    """The channel as one process calls it. Its webhooks are the shipped double's."""

    is_idempotent = False

    def __init__(self, world: World, seat: Seat, outcomes: Sequence[str]) -> None:
        super().__init__("loja")
        self._world = world
        self._seat = seat
        self._outcomes = outcomes
        self._part_chars_max = 4096
        self.upload_days = 29.0

    def compose(self, message: OutgoingMessage, file: Media | None = None) -> Sequence[Part]:
        if message.media is not None:
            return [Part(text="[document]", payload={"type": "document", "media": str(message.media.id)})]
        return [Part(text=text) for text in message.text.split("|")]

    @asynccontextmanager
    async def download(self, media: MediaRef) -> AsyncGenerator[MediaStream]:
        await self._seat.gate("channel: asked for a file")
        yield MediaStream(chunks=_pieces(media))
        await self._seat.gate("channel: has given the file")

    async def deliver(self, delivery: Delivery) -> Outcome:
        await self._seat.gate("channel: about to send")
        if is_past(self._seat.clock, delivery.deadline):
            self._seat.observe("deadline passed")
            return NotSent(reason="deadline_passed")
        name = "accepted" if self._seat.is_plain else self._outcomes[self._seat_choice()]
        self._world.mark(f"channel {name}")
        tell, is_seen = OUTCOMES[name]
        # Its own number would depend on who came first; the message's own id does not.
        outcome = tell(f"wamid.{delivery.key}")
        if is_seen:
            await self._world.customer_gets(delivery)
        self._seat.observe(name)
        await self._seat.gate("channel: has answered")
        return outcome

    def _seat_choice(self) -> int:
        return self._world.choose(self._seat, "outcome", len(self._outcomes))


class GatedAgent:
    """Answers with the ids it read, so that every reply can be traced to what it answers."""

    def __init__(self, world: World, seat: Seat, moods: Sequence[str]) -> None:
        self.name = "gated"
        self.in_process = True
        self._world = world
        self._seat = seat
        self._moods = moods

    async def propose(self, context: TurnContext) -> Proposal:
        await self._seat.gate("agent: asked")
        chosen = 0 if self._seat.is_plain else self._world.choose(self._seat, "mood", len(self._moods))
        mood = self._moods[chosen]
        self._world.mark(f"agent {mood}")
        self._seat.observe(mood)
        read = " ".join(str(message.id) for message in context.messages)
        proposal = await self._answer(mood, read)
        await self._seat.gate("agent: has answered")
        return proposal

    async def _answer(self, mood: str, read: str) -> Proposal:
        match mood:
            case "parts":
                return _say(f"{read}|second part {read}")
            case "goodbye":
                return Proposal(
                    messages=(OutgoingMessage(text=f"bye {read}"),),
                    handoff=HandoffRequest(reason="customer_request"),
                )
            case "writes":
                return _say(f"{await self._book()} {read}")
            case "fails":
                self._world.record.agent_failed = True
                raise AgentError("overloaded", retry=True)
            case "silent":
                return Proposal(silence_reason="nothing_to_say")
            case _:
                return _say(read)

    async def _book(self) -> str:
        seat, world = self._seat, self._world

        @onevoice.writes
        async def book(day: str) -> str:
            await world.effect_begins(day)
            await seat.gate("tool: has been called")
            return f"booked {day}"

        return await book("friday")

    async def close(self) -> None:
        """Nothing to close."""


# What the transcriber may make of an audio, by name.
HEARD: dict[str, str | TranscriptionFailed] = {
    "words": "words of the",
    "nobody speaks": "",
    "is down": TranscriptionFailed("unreachable"),
    "refuses": TranscriptionFailed("bad_audio", retry=False),
}


class GatedTranscriber:
    """Hears what the schedule chooses; whoever recovers hears the first of it."""

    def __init__(self, world: World, seat: Seat, ears: Sequence[str]) -> None:
        self.name = "gated"
        self.bytes_max = 1_000_000
        self._world = world
        self._seat = seat
        self._ears = ears

    async def transcribe(self, audio: Audio) -> Transcript:
        await self._seat.gate("transcriber: asked")
        chosen = 0 if self._seat.is_plain else self._world.choose(self._seat, "ear", len(self._ears))
        name = self._ears[chosen]
        self._world.mark(f"transcriber {name}")
        self._seat.observe(name)
        heard = HEARD[name]
        await self._seat.gate("transcriber: has answered")
        if isinstance(heard, TranscriptionFailed):
            raise heard
        name = audio.content.rpartition(b" ")[2].decode()
        return Transcript(text=f"{heard} {name}" if heard else "", model=self.name)

    async def close(self) -> None:
        """Nothing to close."""


class GatedDecider:
    def __init__(self, world: World, seat: Seat, decisions: Sequence[str]) -> None:
        self.name = "gated"
        self._world = world
        self._seat = seat
        self._decisions = decisions

    async def decide(self, request: TriageRequest) -> TriageDecision:
        # The customer's messages are numbered: the last one read says how many arrivals that were.
        last = max(
            (*request.overtaken, *request.newer), key=lambda text: text.rsplit("m", 1)[-1], default="m0"
        )
        self._world.record.triage_read.add(int(last.rsplit("m", 1)[-1]))
        await self._seat.gate("decider: asked")
        chosen = (
            0 if self._seat.is_plain else self._world.choose(self._seat, "decision", len(self._decisions))
        )
        self._seat.observe(self._decisions[chosen])
        self._world.mark(f"triage {self._decisions[chosen]}")
        return TriageDecision(self._decisions[chosen])

    async def close(self) -> None:
        """Nothing to close."""


async def _pieces(media: MediaRef) -> AsyncIterator[bytes]:
    """An audio that names itself, so that its words can be traced to it."""
    yield b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead\x01\x01" + media.external_id.encode()


def _say(text: str) -> Proposal:
    return Proposal(messages=(OutgoingMessage(text=text),))
