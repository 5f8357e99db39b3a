"""Seal an operator's message, note or follow-up; release, discard or adopt a message that waits for a human."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from onevoice.errors import CommandRefused, ConversationUnknown, OutboundUnknown
from onevoice.flow.attachment.decide import Prepared
from onevoice.flow.attachment.perform import prepare_message
from onevoice.flow.authority.command import SENTENCES, Actor
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, Row, lock, record, refresh, touch
from onevoice.flow.operator.decide import (
    judge_suggestion,
    may_discard,
    may_release,
    may_send_as_own,
    may_speak,
    may_write,
)
from onevoice.flow.outbox.begin import record_outbound
from onevoice.flow.outbox.reseal import reseal
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Part
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, Author, OutboundId, OutboundState, OutgoingMessage

SQL = load_statements(__package__)

EVERYTHING_SEEN = 2**62
WAITING_MAX = 100
_AI_IS_SILENT = (
    "a human has this conversation, or the AI is suspended: send the words as your own, or discard them"
)
_NO_SUGGESTION = "no open suggestion of this id in this conversation; read them again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedMessage:
    """The parts of one operator's message in order; ``is_new`` is false when its key had been used for it before."""

    outbound_ids: tuple[OutboundId, ...]
    is_new: bool


async def seal_operator_message(
    runtime: Runtime,
    key: ConversationKey,
    *,
    actor: Actor,
    message: OutgoingMessage | Part | None,
    seen: str | None,
    idempotency_key: str,
    suggestion: UUID | None = None,
) -> SealedMessage:
    """Seal the owner's message, or a suggestion's words, for the lane; answers what they had seen.

    A reaction answers nothing. A part is one that was sealed before. Raises ``MessageUnsendable`` for what the channel
    cannot carry, ``CommandRefused`` for what the authority does not allow.
    """
    now = runtime.clock.now()
    async with runtime.database.transaction("operator_message", account=key.account) as transaction:
        conversation = await _lock_one(runtime, transaction, key)
        suggested = await _find_suggestion(transaction, key, suggestion)
        words = message.text if message is not None else None
        if message is None and suggested is not None:
            message = OutgoingMessage(text=suggested["text"])
        parts = await _compose(runtime, transaction, conversation, message)
        if not parts:
            raise CommandRefused("blank", "the message has no text; nothing was sent")
        stored_key = f"operator:{idempotency_key}"
        known = await transaction.fetch(SQL["find_by_key"], key.account, key.id, stored_key)
        if known:
            return _same_or_refused(runtime, known, parts)
        if suggested is not None and suggested["state"] != "open":
            raise CommandRefused("suggestion_unknown", _NO_SUGGESTION)
        if not may_write(conversation, actor.operator):
            raise CommandRefused("not_owner", SENTENCES["not_owner"], owner=conversation.authority_owner)
        seen_seq = await _find_seen(transaction, key, seen)
        ids = await _seal(runtime, transaction, conversation, actor, stored_key, parts)
        if parts[0].payload.get("type") != "reaction":
            await transaction.execute(SQL["answer_seen"], key.account, key.id, ids[0], seen_seq)
        if suggested is not None:
            await _end_suggestion(
                runtime, transaction, key, suggested, words, ids[0], was_chosen=suggestion is not None
            )
        await touch(transaction, key, now=now)
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)
    return SealedMessage(outbound_ids=tuple(ids), is_new=True)


async def add_note(runtime: Runtime, key: ConversationKey, *, actor: Actor, text: str) -> UUID:
    """An internal note: the customer and the agent never see it."""
    if not text.strip():
        raise CommandRefused("blank", "the note has no text; nothing was kept")
    note = runtime.chance.new_id()
    now = runtime.clock.now()
    async with runtime.database.transaction("note", account=key.account) as transaction:
        await _lock_one(runtime, transaction, key)
        await transaction.execute(SQL["keep_note"], now, key.account, note, key.id, actor.operator, text)
        await record(transaction, [Entry(kind="note", conversation=key, state="kept")], now=now)
    return note


async def schedule_follow_up(
    runtime: Runtime, key: ConversationKey, *, actor: Actor, text: str, not_before: datetime
) -> UUID:
    """A message for later, bound to this authority: a newer message or any transition cancels it."""
    if not text.strip():
        raise CommandRefused("blank", "the follow-up has no text; nothing was scheduled")
    follow_up = runtime.chance.new_id()
    async with runtime.database.transaction("schedule_follow_up", account=key.account) as transaction:
        conversation = await _lock_one(runtime, transaction, key)
        if not may_write(conversation, actor.operator) and not actor.is_admin:
            raise CommandRefused("not_owner", SENTENCES["not_owner"], owner=conversation.authority_owner)
        await transaction.execute(
            SQL["keep_follow_up"],
            runtime.clock.now(),
            key.account,
            follow_up,
            key.id,
            actor.operator,
            text,
            not_before,
            conversation.authority_version,
            conversation.arrival_count,
        )
    return follow_up


async def seal_due_follow_ups(runtime: Runtime, *, limit: int) -> int:
    """Seal follow-ups that are due and still hold; cancel the others with the reason."""
    rows = await runtime.database.run("claim_follow_ups", SQL["claim_follow_ups"], runtime.clock.now(), limit)
    for found in rows:
        key = ConversationKey(found["account_id"], found["conversation_id"])
        async with runtime.database.transaction("seal_follow_up", account=key.account) as transaction:
            conversation = await _lock_one(runtime, transaction, key)
            row = (await transaction.fetch(SQL["read_follow_up"], key.account, found["id"]))[0]
            await _settle_follow_up(runtime, transaction, conversation, row)
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
    return len(rows)


async def release_outbound(
    runtime: Runtime, account: AccountId, outbound: OutboundId, *, actor: Actor
) -> None:
    """Put a parked message back at the tail of its lane, under the current version."""
    async with runtime.database.transaction("release_outbound", account=account) as transaction:
        conversation, row = await _lock_outbound(runtime, transaction, account, outbound)
        if not may_release(OutboundState(row["state"]), row["reason"]):
            raise CommandRefused("invalid_transition", f"the message is {row['state']}, not parked")
        _check_may_act(conversation, actor)
        if not may_speak(conversation, Author(row["author"])):
            raise CommandRefused("invalid_transition", _AI_IS_SILENT)
        await reseal(runtime, transaction, conversation, [outbound])
        nudges = await refresh(runtime, transaction, [conversation.key])
    nudges.send(runtime)


async def discard_outbound(
    runtime: Runtime, account: AccountId, outbound: OutboundId, *, actor: Actor
) -> None:
    """End a parked or uncertain message for good."""
    async with runtime.database.transaction("discard_outbound", account=account) as transaction:
        conversation, row = await _lock_outbound(runtime, transaction, account, outbound)
        if not may_discard(OutboundState(row["state"])):
            raise CommandRefused("invalid_transition", f"the message is {row['state']}: nothing to discard")
        _check_may_act(conversation, actor)
        rows = await transaction.fetch(SQL["discard_outbound"], runtime.clock.now(), account, outbound)
        await transaction.execute(SQL["close_discarded"], account, outbound)
        await record_outbound(runtime, transaction, rows)
        nudges = await refresh(runtime, transaction, [conversation.key])
    nudges.send(runtime)


async def send_as_mine(
    runtime: Runtime, account: AccountId, outbound: OutboundId, *, actor: Actor, idempotency_key: str
) -> SealedMessage:
    """Send the words of a dropped or parked reply as the operator's own message."""
    async with runtime.database.transaction("read_outbound", account=account) as transaction:
        rows = await transaction.fetch(SQL["read_outbound"], account, outbound)
    if not rows:
        raise OutboundUnknown
    if not may_send_as_own(OutboundState(rows[0]["state"])):
        raise CommandRefused(
            "invalid_transition", f"the message is {rows[0]['state']}: it is on its way or was sent"
        )
    key = ConversationKey(account, rows[0]["conversation_id"])
    return await seal_operator_message(
        runtime,
        key,
        actor=actor,
        message=Part(text=rows[0]["text"], payload=rows[0]["payload"]),
        seen=None,
        idempotency_key=idempotency_key,
    )


def _check_may_act(conversation: Conversation, actor: Actor) -> None:
    """A conversation that another operator holds is theirs to act in."""
    owner = conversation.authority_owner
    if owner is not None and owner != actor.operator and not actor.is_admin:
        raise CommandRefused("not_owner", SENTENCES["not_owner"], owner=owner)


async def _lock_one(runtime: Runtime, transaction: Transaction, key: ConversationKey) -> Conversation:
    locked = await lock(transaction, [key], now=runtime.clock.now())
    if key not in locked:
        raise ConversationUnknown
    return locked[key]


async def _lock_outbound(
    runtime: Runtime, transaction: Transaction, account: AccountId, outbound: OutboundId
) -> tuple[Conversation, Row]:
    found = await transaction.fetch(SQL["find_outbound"], account, outbound)
    if not found:
        raise OutboundUnknown
    conversation = await _lock_one(
        runtime, transaction, ConversationKey(account, found[0]["conversation_id"])
    )
    rows = await transaction.fetch(SQL["read_outbound"], account, outbound)
    return conversation, rows[0]


async def _compose(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    message: OutgoingMessage | Part | None,
) -> list[Part]:
    channel = runtime.channels.get(conversation.channel)
    if channel is None:
        raise CommandRefused(
            "channel_removed", "the conversation's channel is not configured any more; nothing was sent"
        )
    if isinstance(message, Part):
        if message.payload:
            return [message]
        message = OutgoingMessage(text=message.text)
    if message is None or message.is_blank:
        return []
    prepared: Prepared = await prepare_message(transaction, conversation.key, message)
    return list(channel.compose(prepared.message, prepared.file))


def _same_or_refused(runtime: Runtime, known: Sequence[Row], parts: Sequence[Part]) -> SealedMessage:
    if [(row["text"], row["payload"]) for row in known] != [
        (part.text, dict(part.payload)) for part in parts
    ]:
        raise CommandRefused("key_reused", "this Idempotency-Key was used for another message; use a new one")
    runtime.telemetry.duplicates_intercepted.labels(kind="outbound").inc()
    return SealedMessage(outbound_ids=tuple(OutboundId(row["id"]) for row in known), is_new=False)


async def _find_seen(transaction: Transaction, key: ConversationKey, seen: str | None) -> int:
    if seen is None:
        return EVERYTHING_SEEN
    rows = await transaction.fetch(SQL["find_seen"], key.account, key.id, seen)
    if not rows:
        raise CommandRefused(
            "seen_unknown", "`seen` names no inbound message of this conversation; leave it out or correct it"
        )
    return int(rows[0]["seq"])


async def _seal(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    actor: Actor,
    stored_key: str,
    parts: Sequence[Part],
    *,
    author: Author = Author.OPERATOR,
) -> list[OutboundId]:
    key = conversation.key
    waiting = (await transaction.fetch(SQL["count_messages"], key.account, key.id))[0]["waiting"]
    if waiting + len(parts) > WAITING_MAX:
        raise CommandRefused(
            "too_many_waiting", f"{waiting} messages already wait in this conversation; let them leave first"
        )
    ids = [OutboundId(runtime.chance.new_id()) for _ in parts]
    await transaction.execute(
        SQL["seal_operator_messages"],
        runtime.clock.now(),
        key.account,
        key.id,
        conversation.channel,
        author.value,
        actor.operator,
        stored_key,
        len(parts),
        conversation.authority_version,
        ids,
        list(range(1, len(parts) + 1)),
        [part.text for part in parts],
        [dict(part.payload) for part in parts],
    )
    await record_outbound(
        runtime,
        transaction,
        [
            {
                "account_id": key.account,
                "conversation_id": key.id,
                "id": sealed,
                "author": author.value,
                "state": "due",
                "reason": None,
            }
            for sealed in ids
        ],
    )
    return ids


async def _find_suggestion(
    transaction: Transaction, key: ConversationKey, suggestion: UUID | None
) -> Row | None:
    rows = await transaction.fetch(SQL["find_suggestion"], key.account, key.id, suggestion)
    if not rows and suggestion is not None:
        raise CommandRefused("suggestion_unknown", _NO_SUGGESTION)
    return rows[0] if rows else None


async def _end_suggestion(
    runtime: Runtime,
    transaction: Transaction,
    key: ConversationKey,
    suggested: Row,
    text: str | None,
    outbound: OutboundId,
    *,
    was_chosen: bool,
) -> None:
    correction = judge_suggestion(suggested["text"], text, was_chosen=was_chosen)
    await transaction.execute(SQL["end_suggestion"], key.account, suggested["id"], correction.kind, outbound)
    entry = Entry(kind="suggestion", conversation=key, subject=suggested["id"], state=correction.kind)
    await record(transaction, [entry], now=runtime.clock.now())
    runtime.telemetry.operator_corrections.labels(kind=correction.kind).inc()


async def _settle_follow_up(
    runtime: Runtime, transaction: Transaction, conversation: Conversation, row: Row
) -> None:
    key = conversation.key
    if row["state"] != "scheduled":
        return
    reason = None
    if row["authority_version"] != conversation.authority_version:
        reason = "authority_changed"
    elif row["arrivals_seen"] != conversation.arrival_count:
        reason = "newer_message"
    elif conversation.channel not in runtime.channels:
        reason = "channel_removed"
    if reason is None:
        author = Author.OPERATOR if row["operator_id"] is not None else Author.SYSTEM
        await _seal(
            runtime,
            transaction,
            conversation,
            Actor(operator=row["operator_id"], is_admin=False),
            f"follow_up:{row['id']}",
            await _compose(runtime, transaction, conversation, OutgoingMessage(text=row["text"])),
            author=author,
        )
    await transaction.execute(
        SQL["end_follow_up"],
        runtime.clock.now(),
        key.account,
        row["id"],
        "sealed" if reason is None else "cancelled",
        reason or "due",
    )
