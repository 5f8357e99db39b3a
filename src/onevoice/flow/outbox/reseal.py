"""Seal a parked message again: at the tail of its lane, under the current version, with the key it always had."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.flow.conversation import Conversation
from onevoice.flow.outbox.begin import record_outbound
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import OutboundId

SQL = load_statements(__package__)


async def reseal(
    runtime: Runtime, transaction: Transaction, conversation: Conversation, messages: Sequence[OutboundId]
) -> None:
    """Put parked messages back into the lane of a locked conversation, in the order given."""
    for message in messages:
        rows = await transaction.fetch(
            SQL["reseal_message"], runtime.clock.now(), conversation.key.account, message
        )
        await record_outbound(runtime, transaction, rows)


async def reseal_parked_replies(
    runtime: Runtime, transaction: Transaction, conversation: Conversation
) -> None:
    """The customer wrote again, so the channel's window is open: what was parked for it may leave."""
    rows = await transaction.fetch(SQL["find_parked_replies"], conversation.key.account, conversation.key.id)
    await reseal(runtime, transaction, conversation, [OutboundId(row["id"]) for row in rows])
