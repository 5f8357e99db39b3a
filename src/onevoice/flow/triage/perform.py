"""Claim conversations whose reply was overtaken, have somebody decide, and carry the decision out under the lock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.conversation.decide import Row
from onevoice.flow.conversation.perform import lock_due, read_row
from onevoice.flow.outbox.begin import record_outbound
from onevoice.flow.outbox.drop import drop_replies
from onevoice.flow.outbox.reseal import reseal_parked_replies
from onevoice.flow.runtime import Runtime
from onevoice.flow.triage.decide import (
    Conclusion,
    HeldReply,
    bound,
    decide_without_asking,
    find_void_reason,
)
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import OutboundState, TriageDecision, TriageRequest

LOG = logging.getLogger("onevoice.triage")
SQL = load_statements(__package__)

# How long after a failed or lost decider the question is asked again, while the hold ladder lasts.
ASK_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question for the decider, with the arrivals it was asked over."""

    key: ConversationKey
    arrivals: int
    request: TriageRequest


async def claim_triage(runtime: Runtime, *, limit: int) -> list[Asked]:
    """Settle by rule what can be; return the questions that a decider must answer."""
    now = runtime.clock.now()
    asked: list[Asked] = []
    async with runtime.database.transaction("claim_triage") as transaction:
        rows = await transaction.fetch(SQL["lock_due_triage"], now, limit)
        if not rows:
            return []
        conversations = await lock_due(transaction, rows, now=now)
        held = await _read_held(transaction, list(conversations))
        for key, conversation in conversations.items():
            replies = [reply for reply, _ in held.get(key, [])]
            conclusion = _settle_by_rule(runtime, conversation, replies)
            if conclusion is not None:
                await _carry_out(runtime, transaction, conversation, conclusion)
            elif replies:
                asked.append(await _question(transaction, conversation, held[key]))
        nudges = await refresh(runtime, transaction, conversations)
        await transaction.execute(
            SQL["postpone_triage"],
            now,
            runtime.settings.triage.timeout_seconds + ASK_AGAIN_SECONDS,
            [question.key.account for question in asked],
            [question.key.id for question in asked],
        )
    nudges.send(runtime)
    return asked


async def conclude(runtime: Runtime, asked: Asked) -> TriageDecision | None:
    """Ask within the time limit and carry the answer out, if it still decides anything.

    ``None``: the decider failed, or a newer message or another authority voided its answer; the
    ladder goes on, and the question comes back while it lasts.
    """
    decision = await _ask(runtime, asked)
    now = runtime.clock.now()
    async with runtime.database.transaction("decide_triage") as transaction:
        locked = await lock(transaction, [asked.key], now=now)
        conversation = locked[asked.key]
        void_reason = find_void_reason(conversation, arrivals_asked=asked.arrivals)
        held = (await _read_held(transaction, [asked.key])).get(asked.key, [])
        conclusion = None
        if decision is not None and void_reason is None and held:
            conclusion = bound(
                decision,
                [reply for reply, _ in held],
                decider=runtime.decider.name,
                reason=decision.value,
                now=conversation.now,
                max_wait_seconds=runtime.settings.turns.max_wait_seconds,
            )
            await _carry_out(runtime, transaction, conversation, conclusion)
        else:
            await _note_undecided(runtime, transaction, asked, void_reason=void_reason)
            if void_reason is None and held and all(row["is_parked"] for _, row in held):
                await _give_up(runtime, transaction, asked.key)
        nudges = await refresh(runtime, transaction, [asked.key])
    nudges.send(runtime)
    return conclusion.decision if conclusion is not None else None


async def _ask(runtime: Runtime, asked: Asked) -> TriageDecision | None:
    try:
        async with asyncio.timeout(runtime.settings.triage.timeout_seconds):
            answer = await runtime.decider.decide(asked.request)
        return TriageDecision(answer)
    except Exception as error:  # noqa: BLE001  # A foreign decider may raise anything; the ladder covers it.
        LOG.warning(
            "the triage decider failed",
            extra={"conversation_id": str(asked.key.id), "reason": type(error).__name__},
        )
        return None


def _settle_by_rule(
    runtime: Runtime, conversation: Conversation, replies: Sequence[HeldReply]
) -> Conclusion | None:
    if not replies:
        return None
    return decide_without_asking(
        replies,
        runtime.settings.outbox.while_held,
        now=conversation.now,
        max_wait_seconds=runtime.settings.turns.max_wait_seconds,
    )


async def _read_held(
    transaction: Transaction, keys: Sequence[ConversationKey]
) -> dict[ConversationKey, list[tuple[HeldReply, Row]]]:
    rows = await transaction.fetch(
        SQL["read_held_replies"], [key.account for key in keys], [key.id for key in keys]
    )
    held: dict[ConversationKey, list[tuple[HeldReply, Row]]] = {}
    for row in rows:
        key = ConversationKey(row["account_id"], row["conversation_id"])
        held.setdefault(key, []).append((read_row(HeldReply, row), row))
    return held


async def _question(
    transaction: Transaction,
    conversation: Conversation,
    held: Sequence[tuple[HeldReply, Row]],
) -> Asked:
    key = conversation.key
    overtaken = await transaction.fetch(SQL["read_overtaken"], key.account, [reply.turn for reply, _ in held])
    newer = await transaction.fetch(SQL["read_newer"], key.account, key.id, 50)
    return Asked(
        key=key,
        arrivals=conversation.arrival_count,
        request=TriageRequest(
            conversation_id=key.id,
            channel=conversation.channel,
            overtaken=tuple(row["text"] or "" for row in overtaken),
            reply=tuple(text for _, row in held for text in row["texts"]),
            newer=tuple(row["text"] or "" for row in newer),
        ),
    )


async def _carry_out(
    runtime: Runtime, transaction: Transaction, conversation: Conversation, conclusion: Conclusion
) -> None:
    now = runtime.clock.now()
    key = conversation.key
    match conclusion.decision:
        case TriageDecision.RELEASE_FIRST:
            pass
        case TriageDecision.CANCEL_FIRST:
            await drop_replies(
                runtime,
                transaction,
                key,
                conclusion.turns,
                state=OutboundState.CANCELLED,
                reason="cancelled",
                reopen=False,
            )
        case TriageDecision.MERGE:
            await drop_replies(
                runtime,
                transaction,
                key,
                conclusion.turns,
                state=OutboundState.SUPERSEDED,
                reason="superseded",
                reopen=True,
            )
    # Whatever was not dropped goes out; that which waited for the customer to write has its window now.
    await reseal_parked_replies(runtime, transaction, conversation)
    await transaction.execute(SQL["cover_decided"], key.account, key.id)
    await record(
        transaction,
        [
            Entry(
                kind="triage",
                conversation=key,
                subject=conclusion.turns[0] if conclusion.turns else None,
                state=conclusion.decision.value,
                reason=conclusion.reason,
                data={
                    "decision": conclusion.decision.value,
                    "decider": conclusion.decider,
                    "covers": conversation.arrival_count,
                },
            )
        ],
        now=now,
    )
    runtime.telemetry.triage.labels(decision=conclusion.decision.value, decider=conclusion.decider).inc()


async def _give_up(runtime: Runtime, transaction: Transaction, key: ConversationKey) -> None:
    """Parking ends the triage: what arrived since becomes a turn of its own."""
    rows = await transaction.fetch(SQL["give_up_parked"], key.account, key.id)
    await record_outbound(runtime, transaction, rows)
    await transaction.execute(SQL["cover_decided"], key.account, key.id)


async def _note_undecided(
    runtime: Runtime, transaction: Transaction, asked: Asked, *, void_reason: str | None
) -> None:
    now = runtime.clock.now()
    # Voided by a newer message: ask again at once. Failed: a moment later.
    wait = ASK_AGAIN_SECONDS if void_reason is None else 0.0
    await transaction.execute(SQL["postpone_triage"], now, wait, [asked.key.account], [asked.key.id])
    await record(
        transaction,
        [
            Entry(
                kind="triage",
                conversation=asked.key,
                state="undecided" if void_reason is None else "void",
                reason=void_reason or "decider_failed",
                data={"covers": asked.arrivals},
            )
        ],
        now=now,
    )
