"""A turn as an agent is given it, from a few texts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from onevoice.testing.counting_chance import CountingChance
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import (
    AccountId,
    BurstMessage,
    ChannelName,
    ConversationId,
    HistoryItem,
    MessageId,
    TurnContext,
    TurnId,
    UntoldEffect,
)

_SECONDS_BETWEEN = 2


def make_turn_context(
    *texts: str | BurstMessage,
    history: Sequence[tuple[str, str] | HistoryItem] = (),
    effects: Sequence[UntoldEffect] = (),
    at: datetime = START,
    deadline_seconds: float = 60.0,
    contact_id: str = "5511999990000",
    contact_name: str | None = "Ana",
    turn: int = 1,
    attempt: int = 1,
) -> TurnContext:
    """A context whose burst are these texts, the first of them at ``at``, two seconds apart.

    ``history`` takes ``(role, text)`` pairs, oldest first. Each ``turn`` has ids of its own.

    >>> context = make_turn_context("oi", "queria marcar", history=[("assistant", "Olá!")])
    >>> [message.text for message in context.messages], context.history[0].role
    (['oi', 'queria marcar'], 'assistant')
    """
    chance = CountingChance(series=turn)
    step = timedelta(seconds=_SECONDS_BETWEEN)
    past = [
        item
        if isinstance(item, HistoryItem)
        else HistoryItem(role=item[0], text=item[1], at=at - step * (len(history) - position))
        for position, item in enumerate(history)
    ]
    turn_id = TurnId(chance.new_id())
    burst = [
        text
        if isinstance(text, BurstMessage)
        else BurstMessage(id=MessageId(chance.new_id()), type="text", text=text, at=at + step * position)
        for position, text in enumerate(texts)
    ]
    return TurnContext(
        turn_id=turn_id,
        attempt=attempt,
        authority_version=1,
        correlation_id=f"turn-{turn}",
        deadline_seconds=deadline_seconds,
        conversation_id=ConversationId(CountingChance(series=2**40).new_id()),
        account_id=AccountId("default"),
        channel=ChannelName("loja"),
        contact_id=contact_id,
        contact_name=contact_name,
        messages=tuple(burst),
        history=tuple(past),
        effects=tuple(effects),
    )
