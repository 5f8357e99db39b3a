"""Begin sends in batches: who may leave is decided and durable before any byte is on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onevoice.flow.conversation import Conversation, ConversationKey, Entry, record, refresh
from onevoice.flow.conversation.decide import Row
from onevoice.flow.conversation.perform import lock_due, read_row
from onevoice.flow.notify.perform import notify
from onevoice.flow.outbox.decide import Begin, Choice, Drop, Hold, Lane, Lend, Message, decide_begin
from onevoice.flow.outbox.lane import stop_automation, stops_when_parked
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Delivery
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import Author, ChannelName, Media, MediaId, MediaKind, MediaState, OutboundState

SQL = load_statements(__package__)

LEASE_MARGIN_SECONDS = 5.0
NEEDS_A_HUMAN = (OutboundState.PARKED, OutboundState.FAILED, OutboundState.UNCERTAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An attempt that is durable and may now be made; ``delivery.deadline`` bounds its first byte."""

    conversation: ConversationKey
    channel: ChannelName
    message: Message
    attempt: int
    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file to be handed to the channel within ``seconds``, before ``message`` is sent with it.

    The message is no attempt yet: it waits at the head of its lane for as long.
    """

    conversation: ConversationKey
    channel: ChannelName
    message: Message
    file: Media | None
    seconds: float


async def begin_sends(runtime: Runtime, *, limit: int) -> list[Begun | Upload]:
    """Look at every lane that is due; start an attempt for each head that may leave now, or the upload it needs."""
    now = runtime.clock.now()
    # The stopwatch starts before the statement is issued: the database's deadline can only be later than ours.
    deadline = runtime.clock.monotonic() + runtime.settings.outbox.send_timeout_seconds
    async with runtime.database.transaction("begin_sends") as transaction:
        rows = await transaction.fetch(SQL["lock_due_lanes"], now, limit)
        if not rows:
            return []
        conversations = await lock_due(transaction, rows, now=now)
        lanes = await _read_lanes(runtime, transaction, conversations)
        chosen = [(lane, decide_begin(lane)) for lane in lanes]
        begun = await _begin(runtime, transaction, chosen, deadline)
        uploads = await _lend(runtime, transaction, chosen)
        await _hold(runtime, transaction, chosen)
        await _drop(runtime, transaction, chosen)
        nudges = await refresh(runtime, transaction, conversations)
    nudges.send(runtime)
    return [*begun, *uploads]


async def _read_lanes(
    runtime: Runtime, transaction: Transaction, conversations: Mapping[ConversationKey, Conversation]
) -> list[Lane]:
    rows = await transaction.fetch(
        SQL["read_heads"],
        runtime.clock.now(),
        [key.account for key in conversations],
        [key.id for key in conversations],
    )
    return [
        _lane(runtime, conversations[ConversationKey(row["account_id"], row["conversation_id"])], row)
        for row in rows
    ]


def _lane(runtime: Runtime, conversation: Conversation, row: Row) -> Lane:
    channel = runtime.channels.get(row["channel"])
    return Lane(
        conversation=conversation,
        head=read_message(row),
        channel_known=channel is not None,
        channel_paused=bool(row["channel_paused"]),
        channel_slow_until=row["slow_until"],
        ladder_seconds=runtime.settings.outbox.hold_ladder_seconds,
        pair_burst=channel.pair_burst if channel is not None else None,
        pair_seconds=channel.pair_seconds if channel is not None else 1.0,
        file=_file(row),
        uploaded_as=row["uploaded_as"],
        uploaded_at=row["uploaded_at"],
        upload_days=channel.upload_days if channel is not None else None,
    )


def _file(row: Row) -> Media | None:
    if row["media_id"] is None:
        return None
    return Media(
        id=MediaId(row["media_id"]),
        kind=MediaKind(row["media_kind"]),
        state=MediaState.STORED,
        mime_type=row["mime_type"],
        filename=row["filename"],
        size_bytes=row["size_bytes"],
    )


def read_message(row: Row) -> Message:
    return read_row(Message, row, author=Author(row["author"]), state=OutboundState(row["state"]))


async def _begin(
    runtime: Runtime,
    transaction: Transaction,
    chosen: Sequence[tuple[Lane, Choice]],
    deadline: float,
) -> list[Begun]:
    starting = [(lane, choice) for lane, choice in chosen if isinstance(choice, Begin)]
    if not starting:
        return []
    now = runtime.clock.now()
    keys = [lane.conversation.key for lane, _ in starting]
    rows = await transaction.fetch(
        SQL["start_attempts"],
        now,
        runtime.settings.outbox.send_timeout_seconds,
        [key.account for key in keys],
        [lane.head.id for lane, _ in starting],
    )
    await transaction.execute(
        SQL["spend_pair_credit"],
        now,
        [key.account for key in keys],
        [key.id for key in keys],
        [choice.pair_spent for _, choice in starting],
    )
    attempts = {row["outbound_id"]: row["attempt"] for row in rows}
    return [_begun(lane, attempts[lane.head.id], deadline) for lane, _ in starting]


def _begun(lane: Lane, attempt: int, deadline: float) -> Begun:
    head = lane.head
    return Begun(
        conversation=lane.conversation.key,
        channel=head.channel,
        message=head,
        attempt=attempt,
        delivery=Delivery(
            address=lane.conversation.contact_address,
            text=head.text,
            correlation_id=f"{head.id}.{attempt}",
            deadline=deadline,
            key=head.key,
            payload=head.payload,
            uploaded_as=lane.uploaded_as,
        ),
    )


async def _lend(
    runtime: Runtime, transaction: Transaction, chosen: Sequence[tuple[Lane, Choice]]
) -> list[Upload]:
    lent = [(lane, choice) for lane, choice in chosen if isinstance(choice, Lend)]
    if not lent:
        return []
    await transaction.execute(
        SQL["lease_uploads"],
        runtime.clock.now(),
        [lane.conversation.key.account for lane, _ in lent],
        [lane.head.id for lane, _ in lent],
        # The act is over before its place is another's.
        [choice.seconds + LEASE_MARGIN_SECONDS for _, choice in lent],
    )
    return [
        Upload(
            conversation=lane.conversation.key,
            channel=lane.head.channel,
            message=replace(lane.head, upload_try_count=lane.head.upload_try_count + 1),
            file=lane.file,
            seconds=choice.seconds,
        )
        for lane, choice in lent
    ]


async def _hold(runtime: Runtime, transaction: Transaction, chosen: Sequence[tuple[Lane, Choice]]) -> None:
    held = [(lane, choice) for lane, choice in chosen if isinstance(choice, Hold)]
    if not held:
        return
    await transaction.execute(
        SQL["hold_messages"],
        [lane.conversation.key.account for lane, _ in held],
        [lane.head.id for lane, _ in held],
        [choice.until for _, choice in held],
        [choice.counts for _, choice in held],
    )
    climbed = [(lane, choice) for lane, choice in held if choice.counts]
    await record(
        transaction,
        [
            Entry(
                kind="triage",
                conversation=lane.conversation.key,
                subject=lane.head.turn_id,
                state="held",
                reason=choice.reason,
                data={"try": lane.head.hold_try_count + 1},
            )
            for lane, choice in climbed
        ],
        now=runtime.clock.now(),
    )


async def _drop(runtime: Runtime, transaction: Transaction, chosen: Sequence[tuple[Lane, Choice]]) -> None:
    dropped = [(lane, choice) for lane, choice in chosen if isinstance(choice, Drop)]
    if not dropped:
        return
    now = runtime.clock.now()
    keys = [lane.conversation.key for lane, _ in dropped]
    rows = await transaction.fetch(
        SQL["drop_messages"],
        now,
        [key.account for key in keys],
        [lane.head.id for lane, _ in dropped],
        [choice.state.value for _, choice in dropped],
        [choice.reason for _, choice in dropped],
    )
    undecided = [lane.conversation.key for lane, choice in dropped if choice.reason == "triage_undecided"]
    if undecided:
        await transaction.execute(
            SQL["cover_arrivals"], [key.account for key in undecided], [key.id for key in undecided]
        )
    await record_outbound(runtime, transaction, rows)
    await stop_automation(runtime, transaction, stops_when_parked(runtime, rows))
    for _, choice in dropped:
        if choice.state is OutboundState.REVOKED:
            runtime.telemetry.stale_blocked.labels(at="send").inc()


async def record_outbound(runtime: Runtime, transaction: Transaction, rows: Sequence[Row]) -> None:
    """Journal, count and, where a human must look, notify of messages whose state just changed.

    ``rows`` carry account_id, conversation_id, id, author, state and reason.
    """
    await notify(
        runtime,
        transaction,
        [
            (
                ConversationKey(row["account_id"], row["conversation_id"]),
                f"message_{row['state']}",
                row["reason"],
                row["id"],
            )
            for row in rows
            if row["state"] in NEEDS_A_HUMAN
        ],
    )
    await record(
        transaction,
        [
            Entry(
                kind="outbound",
                conversation=ConversationKey(row["account_id"], row["conversation_id"]),
                subject=row["id"],
                state=row["state"],
                reason=row["reason"],
            )
            for row in rows
        ],
        now=runtime.clock.now(),
    )
    for row in rows:
        runtime.telemetry.outbound.labels(
            author=row["author"], state=row["state"], reason=row["reason"] or ""
        ).inc()
