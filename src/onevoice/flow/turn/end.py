"""End running turns under their conversation's lock: once, with a reason, and with their messages' fate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onevoice.flow.conversation import ConversationKey, Entry, record
from onevoice.flow.conversation.perform import read_row
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import TurnFacts
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import TurnId, TurnState, Usage, WhileRunning

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a running turn ends; ``messages_freed`` puts its messages back into the burst."""

    turn: TurnId
    conversation: ConversationKey
    state: TurnState
    reason: str
    messages_freed: bool
    wrote: bool = False
    confidence: float | None = None
    usage: Usage | None = None


async def end_turns(runtime: Runtime, transaction: Transaction, ends: Sequence[TurnEnd]) -> None:
    """End running turns under their conversations' locks, count and journal them; the caller refreshes."""
    if not ends:
        return
    now = runtime.clock.now()
    accounts = [end.conversation.account for end in ends]
    ids = [end.turn for end in ends]
    await transaction.execute(
        SQL["end_turns"],
        now,
        accounts,
        ids,
        [end.state.value for end in ends],
        [end.reason for end in ends],
        [end.wrote for end in ends],
        [end.confidence for end in ends],
        [_usage(end.usage) for end in ends],
    )
    freed = [end for end in ends if end.messages_freed]
    if freed:
        await transaction.execute(
            SQL["free_messages"], [end.conversation.account for end in freed], [end.turn for end in freed]
        )
    await transaction.execute(SQL["clear_running"], accounts, [end.conversation.id for end in ends], ids)
    entries = [
        Entry(
            kind="turn",
            conversation=end.conversation,
            subject=end.turn,
            state=end.state.value,
            reason=end.reason,
        )
        for end in ends
    ]
    await record(transaction, entries, now=now)
    for end in ends:
        runtime.telemetry.turns.labels(verdict=end.state.value, reason=end.reason).inc()


async def read_turns(
    runtime: Runtime, transaction: Transaction, wanted: Sequence[tuple[ConversationKey, TurnId]]
) -> dict[TurnId, TurnFacts]:
    """The rows of turns whose conversations are locked."""
    rows = await transaction.fetch(
        SQL["read_turns"],
        runtime.clock.now(),
        [key.account for key, _ in wanted],
        [turn for _, turn in wanted],
    )
    facts = (
        read_row(
            TurnFacts,
            row,
            state=TurnState(row["state"]),
            while_running=WhileRunning(row["while_running"]),
            message_ids=tuple(row["message_ids"]),
        )
        for row in rows
    )
    return {fact.id: fact for fact in facts}


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "model": usage.model,
    }
