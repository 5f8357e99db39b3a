"""What nobody came back for: sends past their deadline and quarantine, and unknown outcomes past their wait."""

from __future__ import annotations

from datetime import timedelta

from onevoice.flow.conversation import ConversationKey, lock, refresh
from onevoice.flow.conversation.decide import Row
from onevoice.flow.outbox.decide import decide_sender_lost, decide_uncertain_end
from onevoice.flow.outbox.finish import Change, read_messages, save_changes, waits
from onevoice.flow.outbox.lane import confirm_takeovers
from onevoice.flow.runtime import Runtime
from onevoice.store.statements import load_statements
from onevoice.vocabulary import OutboundId, OutboundState

SQL = load_statements(__package__)


async def expire_sends(runtime: Runtime, *, limit: int) -> int:
    """One look of the sweep; returns how many messages it resolved."""
    now = runtime.clock.now()
    quarantine = runtime.settings.outbox.send_timeout_seconds
    sending = await runtime.database.run(
        "find_expired_sends", SQL["find_expired_sends"], now, quarantine, limit
    )
    for row in sending:
        await _expire_one(runtime, row, OutboundState.SENDING)
    uncertain = await runtime.database.run(
        "find_expired_uncertain", SQL["find_expired_uncertain"], now, limit
    )
    for row in uncertain:
        await _expire_one(runtime, row, OutboundState.UNCERTAIN)
    return len(sending) + len(uncertain)


async def _expire_one(runtime: Runtime, found: Row, expected: OutboundState) -> None:
    key = ConversationKey(found["account_id"], found["conversation_id"])
    message_id = OutboundId(found["id"])
    async with runtime.database.transaction("expire_send") as transaction:
        locked = await lock(transaction, [key], now=runtime.clock.now())
        rows = await transaction.fetch(SQL["read_messages"], runtime.clock.now(), [key.account], [message_id])
        # Between the look and the lock its owner may have come back: only the locked row counts.
        if rows[0]["state"] != expected.value or not _has_expired(runtime, rows[0], expected):
            return
        message = (await read_messages(runtime, transaction, [(key, message_id)]))[message_id]
        if expected is OutboundState.SENDING:
            channel = runtime.channels.get(message.channel)
            after = decide_sender_lost(message, is_idempotent=channel is not None and channel.is_idempotent)
            await transaction.execute(
                SQL["finish_attempts"],
                runtime.clock.now(),
                [key.account],
                [message_id],
                [message.attempt_count],
                ["expired"],
                [None],
                [None],
                [None],
            )
        else:
            after = decide_uncertain_end(message, waits(runtime))
        await save_changes(runtime, transaction, [Change(key=key, message=message, after=after)])
        await confirm_takeovers(runtime, transaction, locked, [key])
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


def _has_expired(runtime: Runtime, row: Row, expected: OutboundState) -> bool:
    if expected is OutboundState.UNCERTAIN:
        return bool(row["uncertain_until"] < row["now"])
    quarantine = timedelta(seconds=runtime.settings.outbox.send_timeout_seconds)
    return bool(row["not_after"] + quarantine < row["now"])
