"""Keep notifications in the transaction of what they tell of; deliver them with retries, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from onevoice.flow.conversation.decide import ConversationKey
from onevoice.flow.notify.decide import choose_wait_seconds
from onevoice.flow.runtime import Runtime
from onevoice.ports.receiver import Notification
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)


async def notify(
    runtime: Runtime,
    transaction: Transaction,
    told: Sequence[tuple[ConversationKey, str, str, UUID | None]],
) -> None:
    """Keep one notification per (conversation, kind, reason, subject) given."""
    if not told:
        return
    await transaction.execute(
        SQL["keep_notifications"],
        runtime.clock.now(),
        runtime.receiver is not None,
        [key.account for key, _, _, _ in told],
        [runtime.chance.new_id() for _ in told],
        [key.id for key, _, _, _ in told],
        [kind for _, kind, _, _ in told],
        [reason for _, _, reason, _ in told],
        [subject for _, _, _, subject in told],
    )


async def deliver_notifications(runtime: Runtime, *, limit: int) -> int:
    """Try what is due; a receiver that does not take it is tried again, then given up."""
    receiver = runtime.receiver
    if receiver is None:
        return 0
    rows = await runtime.database.run(
        "claim_notifications", SQL["claim_notifications"], runtime.clock.now(), limit
    )
    for row in rows:
        taken = await receiver.tell(
            Notification(
                id=row["id"],
                account=row["account_id"],
                conversation_id=row["conversation_id"],
                kind=row["kind"],
                reason=row["reason"],
                data=row["data"],
                at=row["created_at"],
            )
        )
        wait = choose_wait_seconds(row["try_count"], jitter=runtime.chance.jitter())
        outcome = "delivered" if taken else ("given_up" if wait is None else None)
        await runtime.database.run(
            "end_notification",
            SQL["end_notification"],
            runtime.clock.now(),
            row["account_id"],
            row["id"],
            outcome,
            wait or 0.0,
        )
    return len(rows)
