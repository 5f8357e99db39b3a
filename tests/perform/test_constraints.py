"""The schema refuses what no step may write: each named rule is broken once on purpose, and states are told alike."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

import onevoice.flow.outbox.decide
from onevoice.flow.authority.decide import EchoOutcome
from onevoice.store.database import Database
from onevoice.vocabulary import (
    AccountId,
    Author,
    AuthorityState,
    EffectState,
    InboundState,
    MediaKind,
    MediaState,
    OutboundState,
    TranscriptionState,
    TurnState,
)
from tests.builders import Rows, at, new_id

if TYPE_CHECKING:
    from tests.conftest import Connection

# What each rule refuses, against a world with one row of each kind. `$1` is an instant.
BROKEN = {
    "attempt_outcome_known": "update attempt set outcome = 'maybe'",
    "channel_name_unique": "insert into channel (account_id, name, kind) values ('other', 'loja', 'whatsapp')",
    "channel_pause_has_reason": "update channel set paused_at = $1",
    "conversation_authority_state_known": "update conversation set authority_state = 'ASLEEP'",
    "conversation_authority_version_positive": "update conversation set authority_version = 0",
    "conversation_decided_not_ahead": "update conversation set arrivals_decided = arrival_count + 1",
    "conversation_media_wait_has_end": "update conversation set is_media_awaited = true",
    "conversation_timer_needs_ai": "update conversation set turn_due_at = $1, open_since = $1, "
    "authority_state = 'HUMAN_ACTIVE'",
    "conversation_timer_needs_open": "update conversation set turn_due_at = $1, open_since = null",
    "device_echo_is_decided": "update device_echo set decide_at = $1",
    "device_echo_outcome_known": "update device_echo set outcome = 'maybe'",
    "effect_end_has_time": "update effect set state = 'done', finished_at = null",
    "effect_key_once": "insert into effect (account_id, id, conversation_id, authority_version, tool, args, key, "
    "state, started_at, not_after) select account_id, gen_random_uuid(), conversation_id, 1, tool, args, key, state, "
    "started_at, not_after from effect",
    "effect_state_known": "update effect set state = 'maybe', finished_at = $1",
    "follow_up_end_has_reason": "update follow_up set state = 'cancelled'",
    "follow_up_state_known": "update follow_up set state = 'maybe', reason = 'x', ended_at = $1",
    "inbound_message_awaited_has_end": "update inbound_message set is_awaited = true",
    "inbound_message_window_has_rule": "update inbound_message set window_seconds = 1",
    "inbound_message_claimed_by": "update inbound_message set state = 'claimed', turn_id = null",
    "inbound_message_end_has_reason": "update inbound_message set state = 'answered', state_reason = null",
    "inbound_message_once": "insert into inbound_message (account_id, id, conversation_id, channel, external_id, type, "
    "state, received_at, raw) select account_id, gen_random_uuid(), conversation_id, channel, external_id, type, "
    "state, received_at, raw from inbound_message",
    "inbound_message_state_known": "update inbound_message set state = 'maybe', state_reason = 'x'",
    "media_failed_has_reason": "update media set state = 'failed', next_try_at = null",
    "media_inbound_once": "insert into media (account_id, id, inbound_id, kind, state, next_try_at, created_at) "
    "select account_id, gen_random_uuid(), inbound_id, kind, state, next_try_at, created_at from media",
    "media_kind_known": "update media set kind = 'hologram'",
    "media_state_known": "update media set state = 'maybe', next_try_at = null",
    "media_stored_is_measured": "update media set state = 'stored', next_try_at = null",
    "media_transcription_failed_has_reason": "update media set transcription_state = 'failed'",
    "media_transcription_needs_bytes": "update media set transcription_state = 'waiting', transcription_due_at = $1",
    "media_transcription_state_known": "update media set transcription_state = 'maybe'",
    "media_waiting_is_due": "update media set next_try_at = null",
    "notification_is_ended": "update notification set outcome = 'delivered'",
    "notification_outcome_known": "update notification set outcome = 'maybe', next_try_at = null",
    "operator_name_once": "insert into operator (account_id, id, name, role, created_at) "
    "select account_id, gen_random_uuid(), name, role, created_at from operator",
    "operator_role_known": "update operator set role = 'root'",
    "outbound_message_ai_has_turn": "update outbound_message set author = 'ai', turn_id = null",
    "outbound_message_author_known": "update outbound_message set author = 'nobody'",
    "outbound_message_end_has_reason": "update outbound_message set state = 'failed', reason = null",
    "outbound_message_key_once": "insert into outbound_message (account_id, id, conversation_id, channel, author, key, "
    "text, state, authority_version, sealed_at, due_at) select account_id, gen_random_uuid(), conversation_id, "
    "channel, author, key, text, 'due', 1, $1, $1 from outbound_message",
    "outbound_message_one_sending": "insert into outbound_message (account_id, id, conversation_id, channel, author, "
    "key, text, state, authority_version, sealed_at, due_at, not_after) select account_id, gen_random_uuid(), "
    "conversation_id, channel, author, n::text, text, 'sending', 1, $1, $1, $1 from outbound_message, "
    "generate_series(1, 2) n",
    "outbound_message_sending_has_deadline": "update outbound_message set state = 'sending', not_after = null",
    "outbound_message_state_known": "update outbound_message set state = 'held', reason = 'x'",
    "outbound_message_uncertain_has_end": "update outbound_message set state = 'uncertain', reason = 'x', "
    "uncertain_until = null",
    "suggestion_state_known": "update suggestion set state = 'maybe'",
    "turn_end_has_reason": "update turn set reason = null",
    "turn_one_running": "insert into turn (account_id, id, conversation_id, state, attempt, authority_version, "
    "while_running, configuration_version, message_ids, arrivals_seen, open_since, worker, started_at, lease_until) "
    "select account_id, gen_random_uuid(), conversation_id, 'running', 1, 1, 'enqueue', 'c', message_ids, 1, $1, 'w', "
    "$1, $1 from turn, generate_series(1, 2)",
    "turn_reads_something": "update turn set message_ids = '{}'",
    "turn_state_known": "update turn set state = 'maybe'",
    "unknown_event_once": "insert into unknown_event (account_id, id, channel, reason, digest, received_at, raw) "
    "select account_id, gen_random_uuid(), channel, reason, digest, received_at, raw from unknown_event",
}

STATES: dict[str, type[StrEnum]] = {
    "conversation_authority_state_known": AuthorityState,
    "inbound_message_state_known": InboundState,
    "turn_state_known": TurnState,
    "outbound_message_state_known": OutboundState,
    "outbound_message_author_known": Author,
    "effect_state_known": EffectState,
    "media_kind_known": MediaKind,
    "media_state_known": MediaState,
    "media_transcription_state_known": TranscriptionState,
}


@pytest.fixture
async def world(database: Database, owner: Connection) -> Connection:
    """One row of every kind, all of them lawful."""
    rows = Rows(owner, AccountId("default"))
    await rows.channel("loja")
    conversation = await rows.conversation(arrival_count=1)
    message = await rows.inbound(conversation)
    turn = await rows.turn(conversation, [message])
    outbound = await rows.outbound(conversation)
    for table, columns in _others(conversation=conversation, message=message, turn=turn, outbound=outbound):
        await rows.insert(table, {"account_id": "default"} | columns)
    return owner


def _others(
    *, conversation: UUID, message: UUID, turn: UUID, outbound: UUID
) -> list[tuple[str, dict[str, object]]]:
    """Tables without a builder of their own."""
    talk: dict[str, object] = {"id": new_id(), "conversation_id": conversation}
    version: dict[str, object] = {"authority_version": 1}
    draft: dict[str, object] = version | {"text": "oi", "arrivals_seen": 1, "created_at": at(0)}
    echo: dict[str, object] = {"external_id": "e1", "conversation_id": conversation, "type": "text"}
    kept: dict[str, object] = {"channel": "loja", "received_at": at(0), "raw": b""}
    write: dict[str, object] = version | {
        "turn_id": turn,
        "tool": "book",
        "args": dict[str, object](),
        "key": "k",
    }
    file: dict[str, object] = {"id": new_id(), "inbound_id": message, "kind": "audio"}
    span: dict[str, object] = {"started_at": at(0), "not_after": at(1)}
    return [
        ("attempt", span | {"outbound_id": outbound, "attempt": 1}),
        ("effect", talk | write | span | {"state": "started"}),
        ("device_echo", echo | kept | {"outcome": "own"}),
        ("media", file | {"state": "waiting", "next_try_at": at(0), "created_at": at(0)}),
        ("follow_up", talk | draft | {"not_before": at(1)}),
        ("suggestion", talk | draft),
        ("notification", talk | {"kind": "handoff", "created_at": at(0), "next_try_at": at(0)}),
        ("operator", {"id": new_id(), "name": "Bia", "role": "operator", "created_at": at(0)}),
        ("unknown_event", kept | {"id": new_id(), "reason": "odd", "digest": b"1"}),
    ]


@pytest.mark.parametrize("name", BROKEN)
async def test_each_rule_of_the_schema_is_kept(world: Connection, name: str) -> None:
    """Written by a superuser, past every step: the table itself refuses it."""
    arguments = [at(0)] if "$1" in BROKEN[name] else []
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await world.execute(BROKEN[name], *arguments)

    assert refused.value.constraint_name == name


async def test_every_rule_is_tried(world: Connection) -> None:
    """A new CHECK or UNIQUE of the schema needs its line above."""
    rules = await world.fetch(
        """
        select conname as name from pg_constraint
        where connamespace = 'public'::regnamespace and contype in ('c', 'u')
        union
        select i.indexrelid::regclass::text from pg_index i
        join pg_class t on t.oid = i.indrelid and t.relnamespace = 'public'::regnamespace
        where i.indisunique and not i.indisprimary"""
    )

    assert {row["name"] for row in rules} == set(BROKEN)


@pytest.mark.parametrize("rule", STATES)
async def test_the_words_of_code_and_schema_are_the_same(world: Connection, rule: str) -> None:
    """One StrEnum, one CHECK."""
    definition = await world.fetchval(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = $1", rule
    )

    assert set(re.findall(r"'(\w+)'::text", definition)) == {state.value for state in STATES[rule]}


async def test_an_echos_outcomes_are_the_same(world: Connection) -> None:
    """All but the one that means that it still waits."""
    definition = await world.fetchval(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = 'device_echo_outcome_known'"
    )

    assert set(re.findall(r"'(\w+)'::text", definition)) == set(EchoOutcome) - {EchoOutcome.WAIT}


def test_the_diagram_shows_every_state_of_a_message() -> None:
    """And no word that is none."""
    text = onevoice.flow.outbox.decide.__doc__ or ""
    diagram = text.partition("::\n")[2]
    words = set(re.findall(r"[a-z]+", diagram)) - {"retry", "once", "more"}

    assert words == {state.value for state in OutboundState}


@pytest.mark.parametrize(
    ("table", "column", "state"),
    [
        *(
            ("outbound_message", "reason", state)
            for state in OutboundState
            if state
            not in (
                OutboundState.DUE,
                OutboundState.SENDING,
                OutboundState.SENT,
                OutboundState.DELIVERED,
                OutboundState.READ,
                OutboundState.PLAYED,
            )
        ),
        *(("turn", "reason", state) for state in TurnState if state is not TurnState.RUNNING),
        *(
            ("inbound_message", "state_reason", state)
            for state in InboundState
            if state not in (InboundState.OPEN, InboundState.CLAIMED)
        ),
    ],
)
async def test_every_end_has_a_reason(world: Connection, table: str, column: str, state: str) -> None:
    """I2: an explicit terminal state, and why."""
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await world.execute(
            f"update {table} set state = $1, {column} = null"  # noqa: S608 - Names are ours.
            + (", uncertain_until = now()" if state == "uncertain" else ""),
            state,
        )

    assert refused.value.constraint_name == f"{table}_end_has_reason"
