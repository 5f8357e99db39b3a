"""Whether a write may begin: one table over authority, what is known of an equal call, and newer messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from onevoice.flow.conversation.decide import Conversation, ConversationKey
from onevoice.flow.effect.decide import (
    Again,
    Begin,
    Effect,
    Facts,
    Recorded,
    Refuse,
    Report,
    decide_approval,
    decide_report,
    decide_write,
    effect_key,
    is_storable,
)
from onevoice.flow.turn.decide import TurnFacts
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import (
    AccountId,
    AuthorityState,
    ChannelName,
    ConversationId,
    EffectId,
    EffectState,
    TurnId,
    TurnState,
    WhileRunning,
)

THIS, EARLIER = TurnId(UUID(int=2)), TurnId(UUID(int=1))

CONVERSATION = Conversation(
    key=ConversationKey(AccountId("default"), ConversationId(UUID(int=9))),
    channel=ChannelName("loja"),
    contact_address="ana",
    contact_name=None,
    authority_state=AuthorityState.AI_ACTIVE,
    authority_version=3,
    authority_owner=None,
    authority_reason=None,
    authority_note=None,
    authority_since=START,
    arrival_count=1,
    arrivals_decided=0,
    open_since=START,
    turn_due_at=None,
    running_turn_id=THIS,
    reply_waiting=False,
    lost_turn_count=0,
    agent_failure_count=0,
    agent_failing_since=None,
    window_expires_at=None,
    pair_spent_count=0.0,
    pair_spent_at=None,
    pair_slow_count=0,
    last_inbound_at=START,
    last_activity_at=START,
    echo_wait_until=None,
    released_at=None,
    held_by_hand=False,
    loop_started_at=None,
    loop_turn_count=0,
    now=START + timedelta(seconds=6),
)
OVERTAKEN = replace(CONVERSATION, arrival_count=2)
TURN = TurnFacts(
    id=THIS,
    state=TurnState.RUNNING,
    reason=None,
    attempt=1,
    authority_version=3,
    while_running=WhileRunning.DISCARD_UNLESS_WROTE,
    arrivals_seen=1,
    open_since=START,
    message_ids=(),
)
KNOWN = Effect(
    id=EffectId(UUID(int=7)),
    turn_id=EARLIER,
    authority_version=3,
    tool="book",
    key="k",
    state=EffectState.DONE,
    retry_safe=False,
    reason=None,
    result="booked",
)
FACTS = Facts(
    conversation=CONVERSATION,
    turn=TURN,
    version=3,
    known=None,
    wrote=False,
    retry_safe=False,
    max_wait_seconds=20.0,
)
STARTED = replace(KNOWN, state=EffectState.STARTED)
SAFE = replace(STARTED, retry_safe=True)
AWAITING = replace(KNOWN, state=EffectState.AWAITING)

REVOKED = Refuse(code="authority_revoked")
OVER = Refuse(code="turn_over")
NEWER = Refuse(code="newer_message", ends_turn=True)
UNKNOWN = Refuse(code="outcome_unknown", ends_turn=True)


def facts(**changes: object) -> Facts:
    return replace(FACTS, **changes)  # type: ignore[arg-type]  # Checked by the record itself.


def ended(reason: str, state: TurnState = TurnState.OBSOLETE) -> TurnFacts:
    return replace(TURN, state=state, reason=reason)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(facts(), Begin(), id="nothing stands against it"),
        pytest.param(facts(turn=ended("authority_revoked")), REVOKED, id="turn ended by a takeover"),
        pytest.param(facts(turn=ended("lease_lost", TurnState.ABANDONED)), OVER, id="turn lost its lease"),
        pytest.param(facts(turn=ended("answered", TurnState.SEALED)), OVER, id="turn was answered"),
        pytest.param(facts(version=2), REVOKED, id="version moved"),
        *[
            pytest.param(
                facts(conversation=replace(CONVERSATION, authority_state=state)), REVOKED, id=f"{state} now"
            )
            for state in AuthorityState
            if state is not AuthorityState.AI_ACTIVE
        ],
        pytest.param(facts(conversation=OVERTAKEN), NEWER, id="newer message"),
        pytest.param(facts(conversation=OVERTAKEN, wrote=True), Begin(), id="newer message after a write"),
        pytest.param(
            facts(conversation=OVERTAKEN, wrote=True, turn=replace(TURN, while_running=WhileRunning.DISCARD)),
            NEWER,
            id="newer message after a write, policy discard",
        ),
        *[
            pytest.param(
                facts(conversation=OVERTAKEN, turn=replace(TURN, while_running=policy)),
                Begin(),
                id=f"newer message, policy {policy}",
            )
            for policy in (WhileRunning.ENQUEUE, WhileRunning.TRIAGE)
        ],
        pytest.param(
            facts(conversation=replace(OVERTAKEN, now=START + timedelta(seconds=20))),
            Begin(),
            id="newer message at the cap",
        ),
        pytest.param(facts(known=KNOWN), Recorded(effect=KNOWN), id="done already"),
        pytest.param(
            facts(known=KNOWN, conversation=OVERTAKEN), Recorded(effect=KNOWN), id="done, and a newer message"
        ),
        pytest.param(facts(known=KNOWN, version=2), REVOKED, id="done, but the version moved"),
        pytest.param(facts(known=STARTED), UNKNOWN, id="started by a dead turn"),
        pytest.param(facts(known=STARTED, retry_safe=True), UNKNOWN, id="it was not safe when it began"),
        pytest.param(facts(known=SAFE), UNKNOWN, id="it is not safe any more"),
        pytest.param(facts(known=replace(STARTED, turn_id=THIS)), UNKNOWN, id="started by the same turn"),
        pytest.param(facts(known=SAFE, retry_safe=True), Again(effect=SAFE), id="safe to repeat"),
        pytest.param(
            facts(known=SAFE, retry_safe=True, conversation=OVERTAKEN), NEWER, id="safe, but a newer message"
        ),
        pytest.param(facts(known=AWAITING), Begin(closes=AWAITING.id), id="a dead turn waits for approval"),
        pytest.param(
            facts(known=replace(AWAITING, turn_id=THIS)),
            Again(effect=replace(AWAITING, turn_id=THIS)),
            id="waits for approval",
        ),
        pytest.param(facts(turn=None), Begin(), id="outside a turn"),
        pytest.param(
            facts(turn=None, conversation=OVERTAKEN), Begin(), id="outside, a new message is no matter"
        ),
        pytest.param(facts(turn=None, version=2), REVOKED, id="outside, version moved"),
        pytest.param(facts(turn=None, known=STARTED), UNKNOWN, id="outside, begun before"),
    ],
)
def test_a_write_begins_only_where_its_reply_could(given: Facts, expected: object) -> None:
    """Authority first, then what is known of an equal call, then newer messages."""
    assert decide_write(given) == expected


@pytest.mark.parametrize(
    ("given", "seen_version", "expected"),
    [
        (facts(), None, None),
        (facts(), 3, None),
        (facts(), 2, "authority_revoked"),
        (facts(turn=ended("authority_revoked")), None, "authority_revoked"),
        (facts(turn=ended("agent_timeout", TurnState.FAILED)), 3, "turn_over"),
        (facts(conversation=OVERTAKEN), 3, "newer_message"),
    ],
)
def test_an_approval_is_checked_like_everything_else(
    given: Facts, seen_version: int | None, expected: str | None
) -> None:
    """What an operator approves must still be right when they do."""
    assert decide_approval(given, seen_version=seen_version) == expected


@pytest.mark.parametrize(
    ("effect", "state", "result", "expected"),
    [
        (STARTED, EffectState.DONE, "booked", Report.NEW),
        (STARTED, EffectState.FAILED, None, Report.NEW),
        (KNOWN, EffectState.DONE, "booked", Report.KNOWN),
        (KNOWN, EffectState.DONE, "another", Report.CONTRADICTS),
        (KNOWN, EffectState.FAILED, "booked", Report.CONTRADICTS),
        (replace(KNOWN, result={"a": 1, "b": 2}), EffectState.DONE, {"b": 2, "a": 1}, Report.KNOWN),
        (AWAITING, EffectState.DONE, "booked", Report.CONTRADICTS),
        (replace(KNOWN, state=EffectState.REFUSED), EffectState.DONE, "booked", Report.CONTRADICTS),
    ],
)
def test_the_first_outcome_counts(
    effect: Effect, state: EffectState, result: object, expected: Report
) -> None:
    """The same report twice is one; another one never replaces it."""
    assert decide_report(effect, state=state, result=result) is expected


def test_equal_calls_have_one_key_and_others_have_not() -> None:
    """Tool, arguments in any order, and occurrence make the call; automation never meets a turn's."""
    key = effect_key("book", {"day": "sexta", "at": 9}, None)

    assert key == effect_key("book", {"at": 9, "day": "sexta"}, None)
    others = {
        effect_key("book", {"day": "sexta", "at": 9}, "second"),
        effect_key("book", {"day": "sexta", "at": "9"}, None),
        effect_key("move", {"day": "sexta", "at": 9}, None),
        effect_key("book", {"day": "sexta", "at": 9}, None, outside=True),
    }
    assert len(others) == 4
    assert key not in others


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, 2.5, None, True, "ã\\u0000"]}, True),
        ("\x00", False),
        ({"\x00": 1}, False),
        (["\ud800"], False),
        (float("nan"), False),
        ({1, 2}, False),
        ("x" * 65_535, False),
    ],
)
def test_only_json_that_the_database_holds_is_taken(value: object, expected: bool) -> None:
    """What cannot be stored is refused before any lock."""
    assert is_storable(value) is expected
