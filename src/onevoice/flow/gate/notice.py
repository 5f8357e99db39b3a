"""A sentence of the runtime's own to the customer, sealed with the transition that it explains."""

from __future__ import annotations

from onevoice.flow.conversation import Conversation
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)


async def seal_notice(
    runtime: Runtime, transaction: Transaction, conversation: Conversation, text: str, *, key: str
) -> None:
    """Seal under the version that the transition just made; the same key is sealed once."""
    await transaction.execute(
        SQL["seal_notice"],
        runtime.clock.now(),
        conversation.key.account,
        runtime.chance.new_id(),
        conversation.key.id,
        conversation.channel,
        key,
        text,
    )
