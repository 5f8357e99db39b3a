"""What follows when the message on the wire is resolved, by its sender or by the channel's word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onevoice.flow.authority.decide import Command
from onevoice.flow.authority.perform import request_transition
from onevoice.flow.conversation import Conversation, ConversationKey, Row, lock
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AuthorityState, ChannelName, OutboundId, StopAi

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """How far an error of the channel stops automation, and where."""

    key: ConversationKey
    channel: ChannelName
    extent: StopAi
    code: str


async def stop_automation(
    runtime: Runtime,
    transaction: Transaction,
    stops: Sequence[Stop],
) -> None:
    """Pause the number, or hand a locked conversation to a human, as the channel's error table says."""
    for stop in stops:
        match stop.extent:
            case StopAi.NO:
                continue
            case StopAi.CHANNEL:
                await transaction.execute(
                    SQL["pause_channel"],
                    runtime.clock.now(),
                    stop.key.account,
                    stop.channel,
                    f"channel_error_{stop.code}",
                )
            case StopAi.CONVERSATION:
                # An earlier stop of this transaction may have moved the conversation on.
                current = await lock(transaction, [stop.key], now=runtime.clock.now())
                await request_transition(
                    runtime,
                    transaction,
                    current[stop.key],
                    Command.REQUEST_HANDOFF,
                    reason="delivery_failed",
                    note=f"a message was not delivered: {stop.code}",
                )


def stops_when_parked(runtime: Runtime, rows: Sequence[Row]) -> list[Stop]:
    """Where so configured, a message that was parked asks for a human."""
    if not runtime.settings.handoff.when_parked:
        return []
    return [
        Stop(
            key=ConversationKey(row["account_id"], row["conversation_id"]),
            channel=ChannelName(""),
            extent=StopAi.CONVERSATION,
            code=row["reason"] or "parked",
        )
        for row in rows
        if row["state"] == "parked" and row["author"] == "ai"
    ]


async def pace_next_parts(
    runtime: Runtime, transaction: Transaction, sent: Sequence[tuple[ConversationKey, OutboundId]]
) -> None:
    """Keep the next part of each reply at its distance from the one that left."""
    await transaction.execute(
        SQL["pace_next_part"],
        runtime.clock.now(),
        runtime.settings.outbox.part_interval_seconds,
        [key.account for key, _ in sent],
        [message for _, message in sent],
    )


async def drop_later_parts(
    runtime: Runtime, transaction: Transaction, ended: Sequence[tuple[ConversationKey, OutboundId]]
) -> list[Row]:
    """Park what follows a part that failed or was parked; returns the rows of the messages parked."""
    if not ended:
        return []
    rows = await transaction.fetch(
        SQL["drop_later_parts"],
        runtime.clock.now(),
        [key.account for key, _ in ended],
        [message for _, message in ended],
    )
    return list(rows)


async def forget_uploads(
    transaction: Transaction, failed: Sequence[tuple[ConversationKey, OutboundId]]
) -> None:
    """What the channel refused with a file may be its id there: the next message hands the file in anew.

    The channel may have lost it, or the number is another one by now.
    """
    if failed:
        await transaction.execute(
            SQL["forget_uploads"], [key.account for key, _ in failed], [message for _, message in failed]
        )


async def confirm_takeovers(
    runtime: Runtime,
    transaction: Transaction,
    locked: Mapping[ConversationKey, Conversation],
    keys: Sequence[ConversationKey],
) -> None:
    """Whoever removes the last in-flight effect confirms a waiting takeover (I1)."""
    for key in sorted(set(keys)):
        conversation = locked[key]
        if conversation.authority_state is AuthorityState.HANDOFF_PENDING:
            await request_transition(runtime, transaction, conversation, Command.CONFIRM)
