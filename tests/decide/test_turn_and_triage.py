"""When a conversation gets a turn, and the rules around a triage decision."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.flow.sweep.decide import LIMIT, choose_pause_seconds
from onevoice.flow.triage.decide import (
    HeldReply,
    bound,
    decide_without_asking,
    droppable,
    find_void_reason,
)
from onevoice.flow.turn.decide import (
    OpenMessage,
    choose_turn,
    is_given_up,
    is_looping,
    is_split,
    measure_gaps,
)
from onevoice.vocabulary import AuthorityState, MessageId, TriageDecision, TurnId, WhileHeld
from tests.decide.facts import TURN, at, conversation


def _open(*seconds: float) -> list[OpenMessage]:
    return [
        OpenMessage(id=MessageId(UUID(int=100 + number)), received_at=at(moment))
        for number, moment in enumerate(seconds)
    ]


def _held(number: int = 1, **facts: Any) -> HeldReply:
    plain: dict[str, Any] = {
        "turn": TurnId(UUID(int=number)),
        "has_begun": False,
        "wrote": False,
        "open_since": at(0),
    }
    return HeldReply(**(plain | facts))


def test_a_turn_claims_exactly_what_it_read() -> None:
    """Not a high-water mark: the ids themselves, with what was known at that instant."""
    talk = conversation(arrival_count=5, lost_turn_count=1, agent_failure_count=2, now=at(7))

    turn = choose_turn(talk, _open(3, 1), new_id=TURN)

    assert turn is not None
    assert turn.message_ids == (MessageId(UUID(int=100)), MessageId(UUID(int=101)))
    assert (turn.arrivals_seen, turn.authority_version, turn.attempt) == (5, 1, 4)
    assert (turn.open_since, turn.waited_seconds) == (at(1), 6.0)


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({"authority_state": AuthorityState.HANDOFF_PENDING}, 1),
        ({"authority_state": AuthorityState.HUMAN_ACTIVE}, 1),
        ({"authority_state": AuthorityState.AI_SUSPENDED}, 1),
        ({"running_turn_id": TURN}, 1),
        ({}, 0),
    ],
)
def test_only_the_locked_row_allows_a_turn(facts: dict[str, Any], count: int) -> None:
    """A timer that fired is a hint: authority, the running turn and the messages are looked at again."""
    assert choose_turn(conversation(**facts), _open(*range(count)), new_id=TURN) is None


@pytest.mark.parametrize(("lost", "is_over"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_burst_that_kills_workers_is_given_up(lost: int, is_over: bool) -> None:
    """After so many lost turns a human looks."""
    assert is_given_up(lost, attempts_max=3) is is_over


@pytest.mark.parametrize(
    ("count", "started", "is_loop"),
    [(12, -59.0, True), (11, -59.0, False), (12, -60.0, False), (99, None, False), (99, 1.0, False)],
)
def test_many_turns_in_a_minute_are_a_loop(count: int, started: float | None, is_loop: bool) -> None:
    """Two bots that answer each other are stopped. A minute that begins in the future is a clock set back."""
    talk = conversation(loop_turn_count=count, loop_started_at=None if started is None else at(started))

    assert is_looping(talk, turns_max=12) is is_loop


def test_gaps_are_between_neighbours_in_time() -> None:
    """Whatever the order of the rows."""
    assert measure_gaps(_open(4, 1, 2)) == [1.0, 2.0]
    assert measure_gaps(_open(4)) == []


@pytest.mark.parametrize(
    ("found", "lease", "pause"), [(LIMIT, 30, 0.0), (0, 30, 1.0), (3, 0.6, 0.5), (0, 4.2, 0.7)]
)
def test_the_sweep_looks_again_at_once_while_there_is_a_backlog(
    found: int, lease: float, pause: float
) -> None:
    """Otherwise several times within a lease."""
    assert choose_pause_seconds(found, lease_seconds=lease) == pytest.approx(pause)


@pytest.mark.parametrize("while_held", list(WhileHeld))
@pytest.mark.parametrize(
    ("facts", "reason"), [({"has_begun": True}, "already_begun"), ({"wrote": True}, "tells_of_a_write")]
)
def test_a_reply_that_must_go_is_released_without_asking(
    while_held: WhileHeld, facts: dict[str, Any], reason: str
) -> None:
    """Begun, or telling of a write: whatever the configuration says."""
    found = decide_without_asking([_held(**facts)], while_held, now=at(1), max_wait_seconds=20)

    assert found is not None
    assert (found.decision, found.decider, found.reason) == (TriageDecision.RELEASE_FIRST, "rule", reason)


@pytest.mark.parametrize(
    ("while_held", "waited", "expected"),
    [
        (WhileHeld.TRIAGE, 1, None),
        (WhileHeld.RELEASE, 1, (TriageDecision.RELEASE_FIRST, "while_held")),
        (WhileHeld.REDO, 19.9, (TriageDecision.MERGE, "while_held")),
        (WhileHeld.REDO, 20, (TriageDecision.RELEASE_FIRST, "rule")),
    ],
)
def test_the_configuration_may_answer_for_the_decider(
    while_held: WhileHeld, waited: float, expected: tuple[TriageDecision, str] | None
) -> None:
    """`release` and `redo` ask nobody; `redo` keeps the cap."""
    found = decide_without_asking([_held()], while_held, now=at(waited), max_wait_seconds=20)

    assert (None if found is None else (found.decision, found.decider)) == expected


@pytest.mark.parametrize("decision", list(TriageDecision))
@pytest.mark.parametrize("waited", [0.0, 19.9, 20.0, 60.0])
def test_a_decision_keeps_its_bounds(decision: TriageDecision, waited: float) -> None:
    """Nobody is merged for ever (I6); a cancellation is not a merge."""
    found = bound(
        decision, [_held(1), _held(2)], decider="rules", reason="x", now=at(waited), max_wait_seconds=20
    )

    becomes_release = decision is TriageDecision.MERGE and waited >= 20
    assert found.decision is (TriageDecision.RELEASE_FIRST if becomes_release else decision)
    drops = found.decision is not TriageDecision.RELEASE_FIRST
    assert found.turns == ((TurnId(UUID(int=1)), TurnId(UUID(int=2))) if drops else ())
    assert found.reason == ("max_wait" if becomes_release else "x")


@given(
    begun=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=4),
    decision=st.sampled_from(list(TriageDecision)),
    waited=st.floats(0, 40),
)
def test_nothing_that_began_or_tells_of_a_write_is_ever_dropped(
    begun: list[tuple[bool, bool]], decision: TriageDecision, waited: float
) -> None:
    """Whatever a decider says."""
    replies = [
        _held(number, has_begun=has_begun, wrote=wrote)
        for number, (has_begun, wrote) in enumerate(begun, start=1)
    ]

    found = bound(decision, replies, decider="x", reason="x", now=at(waited), max_wait_seconds=20)

    allowed = {reply.turn for reply in replies if not reply.has_begun and not reply.wrote}
    assert set(found.turns) <= allowed
    assert {reply.turn for reply in droppable(replies)} == allowed
    assert found.turns or found.decision is TriageDecision.RELEASE_FIRST


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"arrival_count": 2}, None),
        ({"arrival_count": 3}, "newer_message"),
        ({"arrival_count": 2, "arrivals_decided": 2}, "already_decided"),
        ({"arrival_count": 2, "arrivals_decided": 1}, None),
        ({"arrival_count": 3, "authority_state": AuthorityState.HUMAN_ACTIVE}, "authority_revoked"),
        ({"arrival_count": 2, "authority_state": AuthorityState.AI_SUSPENDED}, "authority_revoked"),
    ],
)
def test_what_voids_an_answer(facts: dict[str, Any], reason: str | None) -> None:
    """Another authority, newer arrivals, or a decision that came first."""
    assert find_void_reason(conversation(**facts), arrivals_asked=2) == reason


@pytest.mark.parametrize(
    ("replied_at", "split"), [(None, False), (101.0, False), (100.0, True), (90.0, True), (89.9, False)]
)
def test_a_burst_right_after_an_answer_was_split(replied_at: float | None, *, split: bool) -> None:
    """Within twice the window of the reply; a burst that began before it was overtaken, not split."""
    answered = at(replied_at) if replied_at is not None else None
    messages = [OpenMessage(id=MessageId(UUID(int=1)), received_at=at(100), replied_at=answered)]

    assert is_split(messages, debounce_seconds=5.0) is split
