"""Untold effects: what the turns that end must know of them, and when the customer has been told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onevoice.flow.authority.decide import Command
from onevoice.flow.authority.perform import request_transition
from onevoice.flow.conversation.decide import Conversation, ConversationKey
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import HandoffRequest, OutboundId, TurnId

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWrites:
    """``wrote``: the conversation has effects the customer does not know of. ``refused_reason``: a write of this turn
    was refused. ``unknown_tool``: a write of this turn began, may not be repeated, and nobody knows its outcome."""

    wrote: bool = False
    refused_reason: str | None = None
    unknown_tool: str | None = None


async def read_turn_writes(
    transaction: Transaction, turns: Sequence[tuple[ConversationKey, TurnId]]
) -> dict[TurnId, TurnWrites]:
    """For turns whose conversations are locked."""
    rows = await transaction.fetch(
        SQL["read_turn_writes"],
        [key.account for key, _ in turns],
        [key.id for key, _ in turns],
        [turn for _, turn in turns],
    )
    return {
        TurnId(row["turn_id"]): TurnWrites(
            wrote=row["wrote"], refused_reason=row["refused_reason"], unknown_tool=row["unknown_tool"]
        )
        for row in rows
    }


async def note_told(
    runtime: Runtime, transaction: Transaction, sent: Sequence[tuple[ConversationKey, OutboundId]]
) -> None:
    """These messages have just been accepted by their channel: the customer knows what they could tell of."""
    if sent:
        await transaction.execute(
            SQL["note_told"],
            runtime.clock.now(),
            [key.account for key, _ in sent],
            [message for _, message in sent],
            runtime.settings.outbox.send_timeout_seconds,
        )


def unknown_outcome(tool: str) -> HandoffRequest:
    """Why a human must look after a turn that died in the middle of a write."""
    note = f"the tool {tool} was called and its outcome was lost; check whether it happened before answering"
    return HandoffRequest(reason="effect_outcome_unknown", note=note)


async def hand_off_lost_writes(
    runtime: Runtime,
    transaction: Transaction,
    locked: Mapping[ConversationKey, Conversation],
    dead: Sequence[tuple[ConversationKey, TurnId]],
) -> set[ConversationKey]:
    """Turns that died, ended in this transaction: hand over those in the middle of a write. Returns which."""
    writes = await read_turn_writes(transaction, dead)
    handed: set[ConversationKey] = set()
    for key, turn in dead:
        tool = writes[turn].unknown_tool
        if tool is None:
            continue
        request = unknown_outcome(tool)
        await request_transition(
            runtime,
            transaction,
            replace(locked[key], running_turn_id=None),
            Command.REQUEST_HANDOFF,
            reason=request.reason,
            note=request.note,
        )
        handed.add(key)
    return handed
