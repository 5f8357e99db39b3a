"""The demo agent: understands a burst, reads its book, writes through one place, and answers once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from onevoice.adapters.agents.burst import own_words
from onevoice.adapters.agents.demo.answers import Speaker
from onevoice.adapters.agents.demo.book import Book
from onevoice.adapters.agents.demo.desk import Desk
from onevoice.adapters.agents.demo.intents import Intent, Understanding, understand
from onevoice.adapters.agents.demo.talk import read_talk
from onevoice.adapters.agents.demo.words import Language, language_of
from onevoice.vocabulary import HandoffRequest, OutgoingMessage, Proposal, TurnContext

Sleep = Callable[[float], Awaitable[None]]
Write = Callable[[TurnContext, str, dict[str, object]], Awaitable[dict[str, object]]]

UNDERSTOOD, GUESSED = 0.95, 0.3


class DemoAgent:
    """Implements ports/agent.py without network, key or model.

    ``write`` carries out a write tool (tool name, arguments) and returns its result; by default the
    agent's own ``book`` does. A gate in front of the writes is such a function, ending in ``book.write``.
    """

    name = "builtin:demo"
    in_process = True

    def __init__(self, *, sleep: Sleep, think_seconds: float = 1.2, write: Write | None = None) -> None:
        self.book = Book()
        self._sleep = sleep
        self._think_seconds = think_seconds
        self._write = write or self._write_to_book
        self._zone = _clinic_zone()

    async def propose(self, context: TurnContext) -> Proposal:
        await self._sleep(self._think_seconds)
        if not context.messages:
            return Proposal(silence_reason="nothing_to_answer")
        now = context.messages[-1].at.astimezone(self._zone)
        texts = [text for message in context.messages if (text := own_words(message))]
        understanding = understand(texts, today=now.date())
        speaker = Speaker(understanding.language or _language_of_history(context))
        if Intent.HUMAN in understanding.intents:
            return self._hand_off(context, now, speaker)
        desk = Desk(
            context=context,
            now=now,
            asked=understanding,
            talk=read_talk(context.history, now=now),
            speaker=speaker,
            book=self.book,
            contact=contact_of(context),
            write=self._write,
        )
        lines = await desk.answer()
        return Proposal(
            messages=(OutgoingMessage(text="\n".join(lines)),),
            confidence=_confidence(understanding),
            wrote=desk.wrote,
        )

    async def close(self) -> None:
        return None

    async def _write_to_book(
        self, context: TurnContext, tool: str, args: dict[str, object]
    ) -> dict[str, object]:
        return self.book.write(contact_of(context), tool, args)

    def _hand_off(self, context: TurnContext, now: datetime, speaker: Speaker) -> Proposal:
        booked = self.book.appointment_of(contact_of(context), now=now)
        summary = f"Consulta: {booked.day:%d/%m} {booked.at:%H:%M}" if booked else None
        return Proposal(
            messages=(OutgoingMessage(text=speaker.say("goodbye")),),
            handoff=HandoffRequest(
                reason="customer_request", note="Pediu para falar com uma pessoa.", summary=summary
            ),
            confidence=UNDERSTOOD,
        )


def contact_of(context: TurnContext) -> str:
    """Under which name the book knows the customer."""
    return f"{context.account_id}/{context.channel}/{context.contact_id}"


def _confidence(understanding: Understanding) -> float:
    return GUESSED if understanding.unknown and not understanding.intents else UNDERSTOOD


def _language_of_history(context: TurnContext) -> Language:
    spoken = [item.text for item in context.history if item.role == "customer"]
    return language_of(spoken[-5:]) or Language.PORTUGUESE


def _clinic_zone() -> tzinfo:
    """São Paulo's time; on a machine without time zone data its offset, which has been fixed since 2019."""
    try:
        return ZoneInfo("America/Sao_Paulo")
    except ZoneInfoNotFoundError:
        return timezone(timedelta(hours=-3))
