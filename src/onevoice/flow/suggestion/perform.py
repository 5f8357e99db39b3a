"""Ask the agent on a human's behalf and keep its words, if the thread has not moved on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record
from onevoice.flow.conversation.perform import lock_due
from onevoice.flow.runtime import Runtime
from onevoice.flow.suggestion.decide import still_holds, wants_suggestion, words_of
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import ChannelName, Proposal, TurnId

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A suggestion being asked for. Its id stands where a turn's would, and no gate knows it: it can write nothing."""

    id: TurnId
    conversation: ConversationKey
    channel: ChannelName
    authority_version: int
    arrivals_seen: int
    attempt: int = 1


async def claim_drafts(runtime: Runtime, *, limit: int) -> list[Draft]:
    """Take the conversations in which a suggestion is due; one that gets lost is not worth a lease."""
    now = runtime.clock.now()
    async with runtime.database.transaction("claim_drafts") as transaction:
        rows = await transaction.fetch(SQL["lock_due_suggestions"], now, limit)
        if not rows:
            return []
        conversations = await lock_due(transaction, rows, now=now)
        await transaction.execute(
            SQL["clear_suggestion_timer"],
            [key.account for key in conversations],
            [key.id for key in conversations],
        )
    return [
        Draft(
            id=TurnId(runtime.chance.new_id()),
            conversation=key,
            channel=conversation.channel,
            authority_version=conversation.authority_version,
            arrivals_seen=conversation.arrival_count,
        )
        for key, conversation in conversations.items()
        if wants_suggestion(conversation)
    ]


async def keep_draft(runtime: Runtime, draft: Draft, proposal: Proposal) -> bool:
    """Keep the proposal as a suggestion; ``False`` when the thread moved on or there is nothing to say."""
    if not proposal.messages:
        return False
    async with runtime.database.transaction("keep_draft") as transaction:
        locked = await lock(transaction, [draft.conversation], now=runtime.clock.now())
        conversation = locked[draft.conversation]
        if not still_holds(
            conversation, authority_version=draft.authority_version, arrivals_seen=draft.arrivals_seen
        ):
            return False
        await keep_suggestion(
            runtime,
            transaction,
            conversation,
            text=words_of(proposal),
            reason="asked",
            turn=None,
            authority_version=conversation.authority_version,
        )
    return True


async def keep_suggestion(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    *,
    text: str,
    reason: str,
    turn: TurnId | None,
    authority_version: int,
) -> UUID:
    """Keep words for the operator under the conversation's lock; ``authority_version`` is the one they hold under."""
    now: datetime | None = runtime.clock.now()
    suggestion = runtime.chance.new_id()
    key = conversation.key
    await transaction.execute(
        SQL["keep_suggestion"],
        now,
        key.account,
        suggestion,
        key.id,
        turn,
        text,
        reason,
        authority_version,
        conversation.arrival_count,
    )
    await record(
        transaction,
        [Entry(kind="suggestion", conversation=key, subject=TurnId(suggestion), state="open", reason=reason)],
        now=now,
    )
    return suggestion
