"""Drop sealed replies that have not begun, with the fate of the messages they answered."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.flow.conversation import ConversationKey
from onevoice.flow.outbox.begin import record_outbound
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import OutboundState, TurnId

SQL = load_statements(__package__)


async def drop_replies(
    runtime: Runtime,
    transaction: Transaction,
    key: ConversationKey,
    turns: Sequence[TurnId],
    *,
    state: OutboundState,
    reason: str,
    reopen: bool,
) -> int:
    """Drop the unsent replies of these turns under the conversation's lock; returns how many messages.

    ``reopen`` puts the messages they answered back into the burst, else those are closed as cancelled.
    """
    rows = await transaction.fetch(
        SQL["drop_replies"], runtime.clock.now(), key.account, list(turns), state.value, reason
    )
    if reopen:
        await transaction.execute(SQL["reopen_messages"], key.account, list(turns))
    else:
        await transaction.execute(SQL["cancel_messages"], key.account, list(turns), reason)
    await record_outbound(runtime, transaction, rows)
    return len(rows)
