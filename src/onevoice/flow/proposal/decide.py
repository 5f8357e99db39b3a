"""What the agent is given: the burst as one user turn and what the customer actually saw before it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onevoice.flow.conversation.decide import Row
from onevoice.vocabulary import BurstMessage, EffectState, HistoryItem, MessageId, OutboundState, UntoldEffect

ROLE_OF_AUTHOR = {"ai": "assistant", "operator": "operator", "device": "operator", "customer": "customer"}

STRETCH_MARKS = {
    "HUMAN_ACTIVE": "[a human operator answers from here on]",
    "AI_ACTIVE": "[the conversation is with the assistant again]",
}


def describe_burst(rows: Sequence[Row]) -> tuple[BurstMessage, ...]:
    return tuple(
        BurstMessage(
            id=MessageId(row["id"]),
            type=row["type"],
            # A transcription says it all; the description stands in while there is none.
            text=None if row["transcription"] is not None else row["text"],
            transcription=row["transcription"],
            at=row["at"],
        )
        for row in rows
    )


def describe_history(rows: Sequence[Row]) -> tuple[HistoryItem, ...]:
    """Oldest first. Uncertain messages are marked so, and a released reply that has not left as on its way."""
    return tuple(_describe(row) for row in reversed(rows))


def _describe(row: Row) -> HistoryItem:
    if row["author"] == "system" and row["text"] in STRETCH_MARKS:
        return HistoryItem(role="system", text=STRETCH_MARKS[row["text"]], at=row["at"])
    return HistoryItem(
        role=ROLE_OF_AUTHOR.get(row["author"], "assistant"),
        text=row["text"] or "",
        at=row["at"],
        state=_mark(row["state"]),
    )


def describe_untold(rows: Sequence[Mapping[str, Any]] | None) -> tuple[UntoldEffect, ...]:
    """What earlier, unfinished attempts did and the customer does not know, oldest first."""
    return tuple(
        UntoldEffect(
            tool=row["tool"], args=row["args"], state=EffectState(row["state"]), result=row["result"]
        )
        for row in rows or ()
    )


def _mark(state: str | None) -> str | None:
    match state:
        case OutboundState.UNCERTAIN:
            return "uncertain"
        case OutboundState.DUE | OutboundState.SENDING:
            return "on_its_way"
        case _:
            return None
