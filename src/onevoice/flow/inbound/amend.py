"""Apply edits and revokes that wait in a conversation, under its lock."""

from __future__ import annotations

from onevoice.flow.conversation import ConversationKey, Entry, lock, record, refresh
from onevoice.flow.conversation.decide import Row
from onevoice.flow.inbound.decide import Amendment, TargetFacts, decide_amendment
from onevoice.flow.outbox.drop import drop_replies
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import InboundState, OutboundState, TurnId

SQL = load_statements(__package__)


async def amend(runtime: Runtime, key: ConversationKey) -> None:
    """Apply every pending edit and revoke whose target this conversation holds."""
    now = runtime.clock.now()
    async with runtime.database.transaction("amend") as transaction:
        locked = await lock(transaction, [key], now=now)
        if key not in locked:
            return
        entries: list[Entry] = []
        # One at a time: what the first does to its target is a fact of the next.
        while row := await transaction.fetch_one(SQL["load_pending_amendment"], now, key.account, key.id):
            entries.append(await _apply(runtime, transaction, key, row))
        await record(transaction, entries, now=now)
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


async def amend_pending(runtime: Runtime, *, limit: int) -> int:
    """The sweep's repetition of ``amend``: what a crash between the two commits left behind."""
    rows = await runtime.database.run("find_amendments", SQL["find_pending_amendments"], limit)
    keys = sorted({ConversationKey(row["account_id"], row["conversation_id"]) for row in rows})
    for key in keys:
        await amend(runtime, key)
    return len(keys)


async def overtake(
    runtime: Runtime, transaction: Transaction, key: ConversationKey, *, unsent_reply_of: TurnId | None
) -> None:
    """What a message says has changed: that is news, and a reply to the old words that has not begun is dropped."""
    if unsent_reply_of is not None:
        await drop_replies(
            runtime,
            transaction,
            key,
            [unsent_reply_of],
            state=OutboundState.SUPERSEDED,
            reason="amended",
            reopen=True,
        )
    await transaction.execute(SQL["count_amendment"], runtime.clock.now(), key.account, key.id)


async def _apply(runtime: Runtime, transaction: Transaction, key: ConversationKey, row: Row) -> Entry:
    now = runtime.clock.now()
    amendment = decide_amendment(
        TargetFacts(
            state=InboundState(row["state"]),
            reply_part_count=row["reply_part_count"],
            reply_unsent_count=row["reply_unsent_count"],
            reply_wrote=row["reply_wrote"],
        )
    )
    if amendment is not Amendment.HISTORY:
        is_revoke = row["kind"] == "revoke"
        turn = row["turn_id"] if amendment is Amendment.SUPERSEDE else None
        await overtake(runtime, transaction, key, unsent_reply_of=turn)
        await transaction.execute(
            SQL["amend_target"], now, key.account, row["target_id"], is_revoke, row["new_text"], key.id
        )
    await transaction.execute(SQL["close_amendment"], key.account, row["id"], key.id)
    return Entry(
        kind="inbound",
        conversation=key,
        subject=row["target_id"],
        state="amended" if amendment is not Amendment.HISTORY else "history",
        reason=row["kind"],
    )
