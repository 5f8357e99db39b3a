"""One scenario's conversation: what its customer, agent, channel and operators do, and what is seen of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import httpx2

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Answering, Lines
from onevoice.entrypoints.simulate.customer import message_webhook, text_content, voice_content
from onevoice.entrypoints.simulate.journal import Event
from onevoice.entrypoints.simulate.record import Expectation, Timing
from onevoice.entrypoints.simulate.stopwatch import wall_seconds
from onevoice.errors import ScenarioStuck
from onevoice.testing import GraphRequest

if TYPE_CHECKING:
    from onevoice.entrypoints.simulate.stage import Stage

# How long a scenario waits for what must happen next, beyond what its configuration says.
PATIENCE_SECONDS = 15.0
# How long it listens, after the last thing that may happen, for one that must not.
QUIET_SECONDS = 1.5


class Operator:
    """A human who answers, with a token of their own."""

    def __init__(self, play: Play, name: str, token: str) -> None:
        self.name = name
        self._play = play
        self._token = token
        self._message_count = 0

    async def take(self) -> httpx2.Response:
        return await self._call("take", "takes over")

    async def release(self) -> httpx2.Response:
        return await self._call("release", "gives it back to the AI")

    async def write(self, text: str) -> httpx2.Response:
        self._message_count += 1
        key = f"{self.name}-{self._message_count}"
        return await self._call("messages", f"writes “{text}”", body={"text": text}, key=key)

    async def _call(
        self, command: str, what: str, *, body: dict[str, object] | None = None, key: str = ""
    ) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self._token}"} | ({"idempotency-key": key} if key else {})
        at = wall_seconds()
        path = f"/api/v1/conversations/{self._play.conversation}/{command}"
        response = await self._play.stage.http.post(
            self._play.stage.url + path, json=body or {}, headers=headers
        )
        answer = cast("dict[str, Any]", response.json())
        shown = answer.get("error") or answer.get("authority", {}).get("state") or "accepted"
        self._play.note(at, f"operator {self.name}", what, f"{response.status_code} {shown}")
        return response


class Play:
    """What a scenario's ``act`` is given. All instants are seconds of wall time."""

    def __init__(self, stage: Stage, *, contact: str, name: str) -> None:
        self.stage = stage
        self.contact = contact
        self.began_at = 0.0
        self.conversation = ""
        self.expectations: list[Expectation] = []
        self.timings: list[Timing] = []
        self.noted: list[tuple[float, str, str, str]] = []
        """Moments that only this process saw: when, who, what, why."""
        self._name = name
        self._message_count = 0
        self._lines: Lines | None = None

    # What the people do.

    def answer(self, answering: Answering) -> None:
        """How the agent answers in this conversation."""
        self._lines = Lines(answering=answering)
        self.stage.agent.enter(self.contact, self._lines)

    async def say(self, text: str, *, times: int = 1) -> None:
        """The customer writes; ``times`` posts the very same webhook so often at once."""
        why = f"the same webhook {times} times at once" if times > 1 else ""
        await self._write(f"“{text}”", text_content(text), why=why, times=times)

    async def speak(self, recording: bytes) -> None:
        """The customer sends a voice note."""
        media_id = f"9{self.contact}{self._message_count}"
        self.stage.graph.media.put(media_id, recording)
        await self._write("speaks into the phone", voice_content(media_id))

    async def _write(self, what: str, content: dict[str, object], *, why: str = "", times: int = 1) -> None:
        self._message_count += 1
        webhook = message_webhook(
            self.stage.number,
            contact=self.contact,
            name=self._name,
            external_id=f"wamid.SIMULATE.{self.contact}.{self._message_count:04d}",
            content=content,
        )
        at = wall_seconds()
        self.began_at = self.began_at or at
        self.note(at, "customer", what, why)
        statuses = await asyncio.gather(*(self.stage.post_webhook(webhook) for _ in range(times)))
        if set(statuses) != {200}:
            raise ScenarioStuck(f"the webhook is answered with 200; found: {sorted(set(statuses))}")
        if not self.conversation:
            self.conversation = await self.stage.find_conversation(self.contact)

    def operator(self, name: str) -> Operator:
        return Operator(self, name, self.stage.operators[name])

    async def pause(self, seconds: float) -> None:
        await self.stage.clock.sleep(seconds)

    async def until_ms(self, ms: int) -> None:
        """Wait for an instant of the scenario, such as the customer's next message."""
        await self.pause(max(0.0, self.began_at + ms / 1000 - wall_seconds()))

    # What is seen.

    @property
    def calls(self) -> list[AgentCall]:
        return self._lines.calls if self._lines is not None else []

    @property
    def received(self) -> list[GraphRequest]:
        """What the customer received, in order."""
        return [message for message in self.stage.graph.messages if message.address == self.contact]

    def received_at(self, place: int) -> int | None:
        """When the customer received their message number ``place``, counted from 0."""
        received = self.received
        return self.ms(self.stage.graph_seconds(received[place])) if place < len(received) else None

    def events(self, kind: str, state: str = "") -> list[Event]:
        return [
            event
            for event in self.stage.journal.events
            if event.conversation == self.conversation and event.kind == kind and state in ("", event.state)
        ]

    def ms(self, at: float) -> int:
        return round((at - self.began_at) * 1000)

    async def called(self, count: int = 1, *, seconds_max: float = PATIENCE_SECONDS) -> None:
        await self.until(lambda: len(self.calls) >= count, f"the agent is called {count} ×", seconds_max)

    async def got(self, count: int = 1, *, seconds_max: float = PATIENCE_SECONDS) -> None:
        what = f"the customer receives {count} ×"
        await self.until(lambda: len(self.received) >= count, what, seconds_max)

    async def journalled(
        self, kind: str, state: str, *, count: int = 1, seconds_max: float = PATIENCE_SECONDS
    ) -> Event:
        what = f"the journal says {kind} {state}"
        await self.until(lambda: len(self.events(kind, state)) >= count, what, seconds_max)
        return self.events(kind, state)[count - 1]

    async def until(
        self, holds: Callable[[], bool], what: str, seconds_max: float = PATIENCE_SECONDS
    ) -> None:
        """Wait for what must happen; without it nothing that follows makes sense."""
        if not await self.stage.wait_for(holds, seconds_max=seconds_max):
            raise ScenarioStuck(f"{what} within {seconds_max:g} s; found: not")

    async def quiet(self, seconds: float = QUIET_SECONDS) -> None:
        """Listen for what must not happen."""
        await self.pause(seconds)

    # What must have been seen.

    def expect(self, what: str, held: bool, *, found: object) -> None:
        self.expectations.append(Expectation(what=what, held=held, found=str(found)))

    def expect_received(self, *texts: str) -> None:
        """Exactly these messages, in this order."""
        found = [message.text for message in self.received]
        self.expect(f"the customer receives {_listed(texts)}", found == list(texts), found=_listed(found))

    def expect_calls(self, count: int) -> None:
        self.expect(f"agent calls: {count}", len(self.calls) == count, found=len(self.calls))

    def expect_ended(self, kind: str, state: str, reason: str) -> None:
        """Something ended in this state, for this reason."""
        found = [f"{event.state}: {event.reason}" for event in self.events(kind) if event.reason]
        self.expect(
            f"{kind} {state}: {reason}", f"{state}: {reason}" in found, found=", ".join(found) or "nothing"
        )

    def time(self, what: str, about_ms: int, ms: int | None, *, published_ms: int | None = None) -> None:
        self.timings.append(Timing(what=what, about_ms=about_ms, ms=ms, published_ms=published_ms))

    def note(self, at: float, who: str, what: str, why: str = "") -> None:
        self.noted.append((at, who, what, why))


def _listed(texts: Sequence[str]) -> str:
    return ", then ".join(f"“{text}”" for text in texts) or "nothing"
