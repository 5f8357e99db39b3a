"""Merge two conversations of one customer under both locks; move on what reaches the merged one later."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.flow.authority.decide import Authority
from onevoice.flow.authority.perform import end_work
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.identity.decide import merge_authority
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ChannelName, ConversationId

SQL = load_statements(__package__)

MOVES = (
    SQL["move_inbound"],
    SQL["move_turns"],
    SQL["move_effects"],
    SQL["move_notes"],
    SQL["move_echoes"],
    SQL["move_suggestions"],
    SQL["move_follow_ups"],
    SQL["move_aliases"],
)


async def unite(
    runtime: Runtime, kept: ConversationKey, *, channel: ChannelName, aliases: Sequence[str]
) -> None:
    """Make one conversation of all that these aliases name; ``kept`` is the one that goes on."""
    rows = await runtime.database.run(
        "find_conversations", SQL["find_conversations"], kept.account, channel, list(aliases)
    )
    for row in rows:
        other = ConversationKey(kept.account, ConversationId(row["conversation_id"]))
        if other != kept:
            await _merge(runtime, kept, other)


async def move_stranded(runtime: Runtime, *, limit: int) -> int:
    """Messages that were being received while their conversation was merged away."""
    rows = await runtime.database.run("find_stranded", SQL["find_stranded"], limit)
    for row in rows:
        account = AccountId(row["account_id"])
        await _merge(
            runtime, ConversationKey(account, row["merged_into"]), ConversationKey(account, row["id"])
        )
    return len(rows)


async def _merge(runtime: Runtime, kept: ConversationKey, merged: ConversationKey) -> None:
    now = runtime.clock.now()
    async with runtime.database.transaction("merge_conversations") as transaction:
        locked = await lock(transaction, [kept, merged], now=now)
        if len(locked) < 2:
            return
        for key in (kept, merged):
            await end_work(runtime, transaction, locked[key])
        authority = merge_authority(_authority(locked[kept]), _authority(locked[merged]))
        await _move(runtime, transaction, kept, merged, authority)
        await record(
            transaction,
            [
                Entry(
                    kind="authority",
                    conversation=kept,
                    state=authority.state.value,
                    reason="contacts_merged",
                    data={
                        "merged": str(merged.id),
                        "version": authority.version,
                        "to": authority.state.value,
                    },
                )
            ],
            now=now,
        )
        nudges = await refresh(runtime, transaction, [kept])
    nudges.send(runtime)


async def _move(
    runtime: Runtime,
    transaction: Transaction,
    kept: ConversationKey,
    merged: ConversationKey,
    authority: Authority,
) -> None:
    for move in MOVES:
        await transaction.execute(move, kept.account, merged.id, kept.id)
    await transaction.execute(SQL["move_outbound"], kept.account, str(merged.id), kept.id)
    await transaction.execute(
        SQL["keep_merged"],
        runtime.clock.now(),
        kept.account,
        kept.id,
        authority.state.value,
        authority.version,
        authority.owner,
        authority.reason,
        authority.note,
        merged.id,
    )
    await transaction.execute(SQL["close_merged"], runtime.clock.now(), merged.account, merged.id, kept.id)


def _authority(conversation: Conversation) -> Authority:
    return Authority(
        state=conversation.authority_state,
        version=conversation.authority_version,
        owner=conversation.authority_owner,
        reason=conversation.authority_reason,
        note=conversation.authority_note,
    )
