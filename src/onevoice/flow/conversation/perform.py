"""Lock conversations, derive their timers, write the journal: the shared first and last acts of every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import TypeVar

from onevoice.flow.conversation.decide import Conversation, ConversationKey, Entry, Row
from onevoice.flow.runtime import Runtime
from onevoice.ports.wakeup import Work
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AuthorityState, OperatorId

SQL = load_statements(__package__)

T = TypeVar("T")


def read_row(kind: type[T], row: Row, **derived: object) -> T:
    """Make a frozen record from the row's columns of the same names; ``derived`` fills or replaces fields."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # kind is a dataclass
    return kind(**{name: derived[name] if name in derived else row[name] for name in names})


def _read_conversation(row: Row) -> Conversation:
    return read_row(
        Conversation,
        row,
        key=ConversationKey(row["account_id"], row["id"]),
        authority_state=AuthorityState(row["authority_state"]),
    )


async def lock(
    transaction: Transaction, keys: Iterable[ConversationKey], *, now: datetime | None
) -> dict[ConversationKey, Conversation]:
    """Lock the conversations in id order; only what is read after this call may be decided on."""
    wanted = sorted(set(keys))
    rows = await transaction.fetch(
        SQL["lock_conversations"], now, [key.account for key in wanted], [key.id for key in wanted]
    )
    locked = (_read_conversation(row) for row in rows)
    return {conversation.key: conversation for conversation in locked}


async def lock_due(
    transaction: Transaction, due: Sequence[Row], *, now: datetime | None
) -> dict[ConversationKey, Conversation]:
    """The facts of conversations that a SKIP LOCKED statement has just locked; nothing is waited for."""
    return await lock(transaction, [ConversationKey(row["account_id"], row["id"]) for row in due], now=now)


async def refresh(runtime: Runtime, transaction: Transaction, keys: Iterable[ConversationKey]) -> Nudges:
    """Derive every timer of the locked conversations from their rows; the last act before the commit."""
    wanted = sorted(set(keys))
    turns = runtime.settings.turns
    rows = await transaction.fetch(
        SQL["refresh_conversations"],
        runtime.clock.now(),
        [key.account for key in wanted],
        [key.id for key in wanted],
        turns.debounce_seconds,
        turns.max_wait_seconds,
    )
    return Nudges(rows)


class Nudges:
    """What fell due, to be told to the workers once the transaction has committed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def send(self, runtime: Runtime) -> None:
        for column, work in (("turn_in", Work.TURN), ("outbox_in", Work.OUTBOX), ("triage_in", Work.TRIAGE)):
            due = [row[column] for row in self._rows if row[column] is not None]
            if due:
                runtime.wakeup.nudge(work, in_seconds=max(0.0, min(due)))


async def record(transaction: Transaction, entries: Sequence[Entry], *, now: datetime | None) -> None:
    """Append to the journal, in the same transaction as what it tells of."""
    if not entries:
        return
    await transaction.execute(
        SQL["record_entries"],
        now,
        [entry.conversation.account for entry in entries],
        [entry.kind for entry in entries],
        [entry.conversation.id for entry in entries],
        [entry.subject for entry in entries],
        [entry.state for entry in entries],
        [entry.reason for entry in entries],
        [dict(entry.data) for entry in entries],
    )


async def touch(transaction: Transaction, key: ConversationKey, *, now: datetime | None) -> None:
    """A human has written here."""
    await transaction.execute(SQL["touch_conversation"], now, key.account, key.id)


async def set_authority(
    transaction: Transaction,
    key: ConversationKey,
    *,
    state: AuthorityState,
    owner: OperatorId | None,
    reason: str | None,
    note: str | None,
    held_by_hand: bool,
    now: datetime | None,
) -> None:
    """Write one transition, version + 1. Only ``flow.authority`` decides on transitions."""
    await transaction.execute(
        SQL["set_authority"],
        now,
        [key.account],
        [key.id],
        [state.value],
        [owner],
        [reason],
        [note],
        [held_by_hand],
    )
