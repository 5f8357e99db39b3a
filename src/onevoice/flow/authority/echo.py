"""The business answered from its own phone: a takeover by the device, unless the message is one of ours.

The decision is by ids we stored, never by text. While one of our own attempts is on the wire its id may still
come, so an unknown echo waits a moment, and AI sends wait with it.
"""

from __future__ import annotations

from onevoice.flow.authority.decide import Command, EchoFacts, EchoOutcome, decide_echo
from onevoice.flow.authority.perform import request_transition
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, Row, lock, record, refresh, touch
from onevoice.flow.inbound.place import place_contact
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Channel, EchoItem
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)


async def receive_echo(runtime: Runtime, channel: Channel, item: EchoItem) -> None:
    """Durable when this returns; decided at once, or by the sweep when the wait is over."""
    now = runtime.clock.now()
    async with runtime.database.transaction("receive_echo") as transaction:
        key = await place_contact(runtime, transaction, channel, item.contact)
        locked = await lock(transaction, [key], now=now)
        kept = await transaction.fetch(
            SQL["keep_echo"],
            now,
            key.account,
            channel.name,
            item.external_id,
            key.id,
            item.type,
            item.text,
            item.sent_at,
            item.raw,
        )
        if kept:
            await _decide(runtime, transaction, locked[key], kept[0])
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


async def decide_waiting_echoes(runtime: Runtime, *, limit: int) -> int:
    """Decide echoes whose wait is over, or whose id has turned out to be ours meanwhile."""
    rows = await runtime.database.run("find_echoes", SQL["find_due_echoes"], runtime.clock.now(), limit)
    for found in rows:
        key = ConversationKey(found["account_id"], found["conversation_id"])
        async with runtime.database.transaction("decide_echo") as transaction:
            locked = await lock(transaction, [key], now=runtime.clock.now())
            echoes = await transaction.fetch(SQL["read_waiting_echoes"], key.account, key.id)
            conversation = locked[key]
            for echo in echoes:
                await _decide(runtime, transaction, conversation, echo)
                conversation = (await lock(transaction, [key], now=runtime.clock.now()))[key]
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
    return len(rows)


async def _decide(runtime: Runtime, transaction: Transaction, conversation: Conversation, echo: Row) -> None:
    now = runtime.clock.now()
    key = conversation.key
    facts = (
        await transaction.fetch(
            SQL["read_echo_facts"], key.account, echo["channel"], echo["external_id"], key.id
        )
    )[0]
    outcome = decide_echo(
        EchoFacts(
            is_ours=facts["is_ours"],
            is_sending=facts["is_sending"],
            sent_at=echo["sent_at"],
            received_at=echo["received_at"],
            released_at=conversation.released_at,
            now=conversation.now,
        )
    )
    if outcome is EchoOutcome.WAIT:
        await transaction.execute(SQL["wait_for_echo"], key.account, key.id, echo["decide_at"])
        return
    await transaction.execute(
        SQL["end_echo"], key.account, echo["channel"], echo["external_id"], outcome.value
    )
    await transaction.execute(SQL["end_echo_wait"], key.account, key.id)
    if outcome is EchoOutcome.OWN:
        return
    await transaction.execute(
        SQL["keep_device_reply"],
        now,
        key.account,
        runtime.chance.new_id(),
        key.id,
        echo["channel"],
        echo["external_id"],
        echo["text"] or f"[{echo['type']}]",
        echo["sent_at"] or echo["received_at"],
    )
    await transaction.execute(
        SQL["answer_until"], key.account, key.id, echo["sent_at"] or echo["received_at"]
    )
    await record(
        transaction,
        [Entry(kind="outbound", conversation=key, state="sent", reason=f"device_{outcome.value}")],
        now=now,
    )
    if outcome is EchoOutcome.DEVICE:
        await touch(transaction, key, now=now)
        await request_transition(runtime, transaction, conversation, Command.DEVICE_REPLY)
