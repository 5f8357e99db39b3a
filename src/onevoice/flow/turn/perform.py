"""Claim due turns in batches, keep their leases, take over those whose worker is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from onevoice.flow.authority.decide import Command
from onevoice.flow.authority.perform import request_transition
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.conversation.perform import lock_due, read_row
from onevoice.flow.effect.untold import hand_off_lost_writes
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import (
    OpenMessage,
    Turn,
    choose_turn,
    is_given_up,
    is_looping,
    is_split,
    measure_gaps,
)
from onevoice.flow.turn.end import TurnEnd, end_turns, read_turns
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import TurnId, TurnState

SQL = load_statements(__package__)


async def claim(runtime: Runtime, *, limit: int) -> list[Turn]:
    """Start every due turn, at most ``limit``. Durable afterwards: who runs which messages, under which version."""
    now = runtime.clock.now()
    async with runtime.database.transaction("claim_turns") as transaction:
        rows = await transaction.fetch(SQL["lock_due_conversations"], now, limit)
        if not rows:
            return []
        conversations = await lock_due(transaction, rows, now=now)
        messages = await _read_open_messages(runtime, transaction, list(conversations))
        turns: list[Turn] = []
        for key, conversation in conversations.items():
            if is_looping(conversation, turns_max=runtime.settings.handoff.loop_turns_per_minute):
                await request_transition(
                    runtime,
                    transaction,
                    conversation,
                    Command.SUSPEND,
                    is_admin=True,
                    reason="loop_suspected",
                    note=f"{conversation.loop_turn_count} turns within a minute: is it another bot?",
                )
                continue
            turn = choose_turn(conversation, messages[key], new_id=TurnId(runtime.chance.new_id()))
            if turn is not None:
                turns.append(turn)
        await _start(runtime, transaction, turns)
        nudges = await refresh(runtime, transaction, conversations)
    nudges.send(runtime)
    for turn in turns:
        _measure(runtime, conversations[turn.conversation], messages[turn.conversation])
    return turns


async def renew(runtime: Runtime, turns: Sequence[Turn]) -> set[TurnId]:
    """Renew the leases of running turns in one statement; returns those that still run."""
    rows = await runtime.database.run(
        "renew_leases",
        SQL["renew_leases"],
        runtime.clock.now(),
        runtime.settings.turns.lease_seconds,
        [turn.conversation.account for turn in turns],
        [turn.id for turn in turns],
    )
    return {TurnId(row["id"]) for row in rows}


async def abandon_lost(runtime: Runtime, *, limit: int) -> int:
    """Free the messages of turns whose lease ran out; returns how many there were."""
    rows = await runtime.database.run("find_lost_turns", SQL["find_lost_turns"], runtime.clock.now(), limit)
    for row in rows:
        await _abandon_one(
            runtime, ConversationKey(row["account_id"], row["conversation_id"]), TurnId(row["id"])
        )
    return len(rows)


async def abandon_drained(runtime: Runtime, turns: Sequence[Turn]) -> None:
    """End turns that this process cannot finish before it stops; that is no attempt of theirs."""
    now = runtime.clock.now()
    async with runtime.database.transaction("abandon_drained") as transaction:
        keys = [turn.conversation for turn in turns]
        locked = await lock(transaction, keys, now=now)
        facts = await read_turns(runtime, transaction, [(turn.conversation, turn.id) for turn in turns])
        ends = [
            TurnEnd(
                turn=turn.id,
                conversation=turn.conversation,
                state=TurnState.ABANDONED,
                reason="drain",
                messages_freed=True,
            )
            for turn in turns
            if turn.id in facts and facts[turn.id].state is TurnState.RUNNING
        ]
        await end_turns(runtime, transaction, ends)
        dead = [(end.conversation, end.turn) for end in ends]
        await hand_off_lost_writes(runtime, transaction, locked, dead)
        nudges = await refresh(runtime, transaction, keys)
    nudges.send(runtime)


async def _abandon_one(runtime: Runtime, key: ConversationKey, turn: TurnId) -> None:
    now = runtime.clock.now()
    async with runtime.database.transaction("abandon_lost") as transaction:
        locked = await lock(transaction, [key], now=now)
        conversation = locked[key]
        rows = await transaction.fetch(SQL["lock_turn"], now, key.account, turn)
        # Between the look and the lock the worker may have renewed or finished: only the locked row counts.
        if not rows or rows[0]["state"] != "running" or rows[0]["lease_until"] >= rows[0]["now"]:
            return
        await end_turns(
            runtime,
            transaction,
            [
                TurnEnd(
                    turn=turn,
                    conversation=key,
                    state=TurnState.ABANDONED,
                    reason="lease_lost",
                    messages_freed=True,
                )
            ],
        )
        await transaction.execute(SQL["count_lost"], key.account, key.id)
        handed_off = await hand_off_lost_writes(runtime, transaction, locked, [(key, turn)])
        lost_turn_count = conversation.lost_turn_count + 1
        attempts_max = runtime.settings.turns.max_attempts
        if not handed_off and is_given_up(lost_turn_count, attempts_max=attempts_max):
            await request_transition(
                runtime,
                transaction,
                # The turn has just ended; the transition must not end it again.
                replace(conversation, running_turn_id=None),
                Command.REQUEST_HANDOFF,
                reason="integration_failure",
                note="the worker was lost in every attempt to answer",
            )
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


async def _read_open_messages(
    runtime: Runtime, transaction: Transaction, keys: Sequence[ConversationKey]
) -> dict[ConversationKey, list[OpenMessage]]:
    rows = await transaction.fetch(
        SQL["read_open_messages"],
        [key.account for key in keys],
        [key.id for key in keys],
        runtime.settings.turns.burst_messages,
    )
    messages: dict[ConversationKey, list[OpenMessage]] = defaultdict(list)
    for row in rows:
        key = ConversationKey(row["account_id"], row["conversation_id"])
        messages[key].append(read_row(OpenMessage, row))
    return messages


async def _start(runtime: Runtime, transaction: Transaction, turns: Sequence[Turn]) -> None:
    if not turns:
        return
    now = runtime.clock.now()
    accounts = [turn.conversation.account for turn in turns]
    claimed = [(turn, message) for turn in turns for message in turn.message_ids]
    await transaction.execute(
        SQL["start_turns"],
        now,
        runtime.settings.turns.while_running.value,
        runtime.settings.version(),
        runtime.worker,
        runtime.settings.turns.lease_seconds,
        accounts,
        [turn.id for turn in turns],
        [turn.conversation.id for turn in turns],
        [turn.attempt for turn in turns],
        [turn.authority_version for turn in turns],
        [turn.arrivals_seen for turn in turns],
        [turn.id for turn, _ in claimed],
        [message for _, message in claimed],
        [turn.open_since for turn in turns],
    )
    await transaction.execute(
        SQL["claim_messages"],
        [turn.conversation.account for turn, _ in claimed],
        [message for _, message in claimed],
        [turn.id for turn, _ in claimed],
    )
    await transaction.execute(
        SQL["set_running"],
        now,
        accounts,
        [turn.conversation.id for turn in turns],
        [turn.id for turn in turns],
    )
    entries = [
        Entry(
            kind="turn",
            conversation=turn.conversation,
            subject=turn.id,
            state=TurnState.RUNNING.value,
            data={
                "attempt": turn.attempt,
                "messages": len(turn.message_ids),
                "window_rules": list(turn.window_rules),
            },
        )
        for turn in turns
    ]
    await record(transaction, entries, now=now)


def _measure(runtime: Runtime, conversation: Conversation, messages: Sequence[OpenMessage]) -> None:
    if conversation.turn_due_at is not None:
        lag = (conversation.now - conversation.turn_due_at).total_seconds()
        runtime.telemetry.turn_lag_seconds.observe(max(0.0, lag))
    for gap in measure_gaps(messages):
        runtime.telemetry.burst_gap_seconds.observe(gap)
    runtime.telemetry.agent_calls_avoided.inc(len(messages) - 1)
    if is_split(messages, debounce_seconds=runtime.settings.turns.debounce_seconds):
        runtime.telemetry.bursts_split.inc()
