"""Find a contact's conversation by every key it is known under, or make one."""

from __future__ import annotations

from onevoice.flow.conversation import ConversationKey
from onevoice.flow.inbound.perform import derive_conversation_id
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Channel, ContactRef
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)


async def place_contact(
    runtime: Runtime, transaction: Transaction, channel: Channel, contact: ContactRef
) -> ConversationKey:
    """The conversation of a contact that did not write itself; it is there when this returns, not yet locked."""
    rows = await transaction.fetch(
        SQL["place_contact"],
        runtime.clock.now(),
        channel.account,
        channel.name,
        list(dict.fromkeys((contact.key, *contact.aliases))),
        derive_conversation_id(channel.account, channel.name, contact.key),
        contact.address,
        contact.name,
    )
    return ConversationKey(channel.account, rows[0]["id"])
