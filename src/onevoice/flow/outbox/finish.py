"""Finish sends in batches: the outcome of each attempt, what it makes of its message, and who waited for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onevoice.flow.conversation import Conversation, ConversationKey, lock, refresh
from onevoice.flow.effect.untold import note_told
from onevoice.flow.outbox.begin import Begun, read_message, record_outbound
from onevoice.flow.outbox.decide import After, Message, Waits, decide_finish, is_resolved_by
from onevoice.flow.outbox.lane import (
    Stop,
    confirm_takeovers,
    drop_later_parts,
    forget_uploads,
    pace_next_parts,
    stop_automation,
    stops_when_parked,
)
from onevoice.flow.receipt.save import apply_orphans
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Accepted, NotSent, Outcome, OutcomeUnknown, Refused
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import ChannelName, OutboundId, OutboundState

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt with its outcome, as the dispatcher brings it back."""

    begun: Begun
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an outcome or evidence makes of one message."""

    key: ConversationKey
    message: Message
    after: After


async def finish_sends(runtime: Runtime, finished: Sequence[Finished]) -> list[OutboundState]:
    """Record outcomes; a late one resolves what became uncertain meanwhile, and never touches a newer attempt."""
    now = runtime.clock.now()
    async with runtime.database.transaction("finish_sends") as transaction:
        locked = await lock(transaction, [done.begun.conversation for done in finished], now=now)
        messages = await read_messages(
            runtime, transaction, [(done.begun.conversation, done.begun.message.id) for done in finished]
        )
        await _save_attempts(runtime, transaction, finished)
        changes = [
            change for done in finished if (change := _decide(runtime, done, messages, locked)) is not None
        ]
        await save_changes(runtime, transaction, changes)
        await _learn(transaction, finished)
        await apply_orphans(
            runtime,
            transaction,
            [(c.key, c.message.channel, c.after.external_id) for c in changes if c.after.external_id],
            locked,
        )
        stops = [_stop(change) for change in changes]
        stops += stops_when_parked(runtime, [_as_row(change) for change in changes])
        await stop_automation(runtime, transaction, stops)
        await confirm_takeovers(runtime, transaction, locked, [change.key for change in changes])
        nudges = await refresh(runtime, transaction, locked)
    nudges.send(runtime)
    states = {change.message.id: change.after.state for change in changes}
    return [states.get(done.begun.message.id, messages[done.begun.message.id].state) for done in finished]


async def read_messages(
    runtime: Runtime, transaction: Transaction, wanted: Sequence[tuple[ConversationKey, OutboundId]]
) -> dict[OutboundId, Message]:
    """Messages of locked conversations."""
    rows = await transaction.fetch(
        SQL["read_messages"],
        runtime.clock.now(),
        [key.account for key, _ in wanted],
        [message for _, message in wanted],
    )
    return {OutboundId(row["id"]): read_message(row) for row in rows}


def _decide(
    runtime: Runtime,
    done: Finished,
    messages: Mapping[OutboundId, Message],
    locked: Mapping[ConversationKey, Conversation],
) -> Change | None:
    message = messages[done.begun.message.id]
    if message.attempt_count != done.begun.attempt or not is_resolved_by(
        message.state, done.outcome, reason=message.reason
    ):
        return None
    after = decide_finish(
        message,
        done.outcome,
        waits(runtime),
        pair_slow_count=locked[done.begun.conversation].pair_slow_count,
    )
    return Change(key=done.begun.conversation, message=message, after=after)


def waits(runtime: Runtime) -> Waits:
    outbox = runtime.settings.outbox
    return Waits(
        uncertain_wait_seconds=outbox.uncertain_wait_seconds,
        after_uncertain=outbox.after_uncertain,
        jitter=runtime.chance.jitter(),
    )


async def save_changes(runtime: Runtime, transaction: Transaction, changes: Sequence[Change]) -> None:
    """Write what messages have become, with journal, pacing, channel pauses and the fate of later parts."""
    if not changes:
        return
    now = runtime.clock.now()
    accounts = [change.key.account for change in changes]
    ids = [change.message.id for change in changes]
    await transaction.execute(
        SQL["save_outcomes"],
        now,
        runtime.settings.outbox.uncertain_wait_seconds,
        accounts,
        ids,
        [change.after.state.value for change in changes],
        [change.after.reason for change in changes],
        [change.after.external_id for change in changes],
        [change.after.error_code for change in changes],
        [change.after.error_detail for change in changes],
        [change.after.due_in_seconds for change in changes],
    )
    await pace_next_parts(runtime, transaction, [(change.key, change.message.id) for change in changes])
    await note_told(
        runtime,
        transaction,
        [(change.key, change.message.id) for change in changes if change.after.state is OutboundState.SENT],
    )
    ended = [
        (change.key, change.message.id)
        for change in changes
        if change.after.state in (OutboundState.FAILED, OutboundState.PARKED)
    ]
    await forget_uploads(
        transaction,
        [(c.key, c.message.id) for c in changes if c.after.state is OutboundState.FAILED],
    )
    parked = await drop_later_parts(runtime, transaction, ended)
    await record_outbound(runtime, transaction, parked)
    await transaction.execute(
        SQL["note_send"],
        now,
        accounts,
        [change.key.id for change in changes],
        [change.after.pair_was_slow for change in changes],
        [change.after.state is OutboundState.SENT for change in changes],
    )
    await _slow_channels(runtime, transaction, changes)
    await record_outbound(runtime, transaction, [_as_row(change) for change in changes])


async def _slow_channels(runtime: Runtime, transaction: Transaction, changes: Sequence[Change]) -> None:
    # In one order, so that two batches never wait for each other's channels.
    for change in sorted(changes, key=lambda change: (change.key.account, change.message.channel)):
        if change.after.slow_channel_seconds is not None:
            await transaction.execute(
                SQL["slow_channel"],
                runtime.clock.now(),
                change.key.account,
                change.message.channel,
                change.after.slow_channel_seconds,
            )


async def _save_attempts(runtime: Runtime, transaction: Transaction, finished: Sequence[Finished]) -> None:
    outcomes = [_describe(done.outcome) for done in finished]
    await transaction.execute(
        SQL["finish_attempts"],
        runtime.clock.now(),
        [done.begun.conversation.account for done in finished],
        [done.begun.message.id for done in finished],
        [done.begun.attempt for done in finished],
        [outcome[0] for outcome in outcomes],
        [outcome[1] for outcome in outcomes],
        [outcome[2] for outcome in outcomes],
        [outcome[3] for outcome in outcomes],
    )


def _describe(outcome: Outcome) -> tuple[str, str | None, str | None, str | None]:
    match outcome:
        case Accepted(external_id=external_id):
            return "accepted", external_id, None, None
        case Refused(error=error):
            return "refused", None, error.code, error.detail
        case NotSent(reason=reason):
            return "not_sent", None, None, reason
        case OutcomeUnknown(reason=reason):
            return "unknown", None, None, reason


async def _learn(transaction: Transaction, finished: Sequence[Finished]) -> None:
    learned: list[tuple[ConversationKey, ChannelName, str]] = [
        (done.begun.conversation, done.begun.channel, alias)
        for done in finished
        if isinstance(done.outcome, Accepted)
        for alias in done.outcome.aliases
    ]
    if learned:
        await transaction.execute(
            SQL["learn_aliases"],
            [key.account for key, _, _ in learned],
            [channel for _, channel, _ in learned],
            [alias for _, _, alias in learned],
            [key.id for key, _, _ in learned],
        )


def _as_row(change: Change) -> dict[str, object]:
    return {
        "account_id": change.key.account,
        "conversation_id": change.key.id,
        "id": change.message.id,
        "author": change.message.author.value,
        "state": change.after.state.value,
        "reason": change.after.reason,
    }


def _stop(change: Change) -> Stop:
    return Stop(
        key=change.key,
        channel=change.message.channel,
        extent=change.after.stop_ai,
        code=change.after.error_code or "",
    )
