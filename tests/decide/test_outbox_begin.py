"""Whether the head of a lane may leave: authority, triage and its ladder, the channel, the window, the pace."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.flow.outbox.decide import PAUSED_LOOK_SECONDS, Begin, Drop, Hold, decide_begin
from onevoice.vocabulary import Author, AuthorityState, OutboundState
from tests.decide.facts import at, conversation, lane, message

OVERTAKEN = {"arrival_count": 2}


def test_a_due_head_begins() -> None:
    """Nothing holds it."""
    assert decide_begin(lane()) == Begin(pair_spent=0.0)


def test_an_old_version_is_revoked_before_anything_else() -> None:
    """Authority first: not even the ladder counts for what may never leave."""
    found = decide_begin(
        lane(conversation(authority_version=2, **OVERTAKEN), channel_known=False, channel_paused=True)
    )

    assert found == Drop(state=OutboundState.REVOKED, reason="authority_revoked")


@pytest.mark.parametrize(
    ("talk", "head", "facts", "expected"),
    [
        ({}, {"due_at": at(1)}, {}, Hold(until=at(1), reason="not_due")),
        ({}, {}, {"channel_known": False}, Drop(state=OutboundState.PARKED, reason="channel_removed")),
        (
            {"window_expires_at": at(0)},
            {},
            {},
            Drop(state=OutboundState.PARKED, reason="needs_template"),
        ),
        ({"window_expires_at": at(0.1)}, {}, {}, Begin(pair_spent=0.0)),
        ({}, {}, {"channel_paused": True}, Hold(until=at(PAUSED_LOOK_SECONDS), reason="channel_paused")),
        ({}, {"author": Author.OPERATOR}, {"channel_paused": True}, Begin(pair_spent=0.0)),
        ({}, {}, {"channel_slow_until": at(4)}, Hold(until=at(4), reason="channel_slow")),
        ({}, {}, {"channel_slow_until": at(0)}, Begin(pair_spent=0.0)),
    ],
)
def test_what_holds_a_head_back(
    talk: dict[str, Any], head: dict[str, Any], facts: dict[str, Any], expected: Begin | Hold | Drop
) -> None:
    """Each reason alone."""
    assert decide_begin(lane(conversation(**talk), message(**head), **facts)) == expected


@pytest.mark.parametrize(
    ("tries", "expected"),
    [
        (0, Hold(until=at(0.3), reason="triage_undecided", counts=True)),
        (1, Hold(until=at(0.6), reason="triage_undecided", counts=True)),
        (2, Hold(until=at(1.2), reason="triage_undecided", counts=True)),
        (3, Drop(state=OutboundState.PARKED, reason="triage_undecided")),
    ],
)
def test_the_ladder_climbs_and_ends(tries: int, expected: Hold | Drop) -> None:
    """Undecided at 0, 0.3 and 0.9 s after falling due, parked at 2.1 s; it never restarts."""
    assert decide_begin(lane(conversation(**OVERTAKEN), message(hold_try_count=tries))) == expected


def test_without_a_ladder_an_undecided_reply_is_parked_at_once() -> None:
    """An empty ladder is a configuration, not an endless loop."""
    found = decide_begin(lane(conversation(**OVERTAKEN), ladder_seconds=()))

    assert found == Drop(state=OutboundState.PARKED, reason="triage_undecided")


@pytest.mark.parametrize(
    ("talk", "head"),
    [
        ({"arrival_count": 2, "arrivals_decided": 2}, {}),
        ({"arrival_count": 2}, {"arrivals_seen": 2}),
        ({"arrival_count": 2}, {"author": Author.OPERATOR}),
        ({"arrival_count": 2}, {"author": Author.SYSTEM}),
        ({"arrival_count": 2, "authority_state": AuthorityState.HANDOFF_PENDING}, {}),
    ],
)
def test_what_is_decided_or_needs_no_decision_leaves(talk: dict[str, Any], head: dict[str, Any]) -> None:
    """A covered arrival, a seen one, somebody else's message, a goodbye under a pending transfer."""
    assert isinstance(decide_begin(lane(conversation(**talk), message(**head))), Begin)


@pytest.mark.parametrize(
    ("spent", "ago", "expected"),
    [
        (0.0, 0.0, Begin(pair_spent=1.0)),
        (44.0, 0.0, Begin(pair_spent=45.0)),
        (45.0, 0.0, Hold(until=at(6.0), reason="pair_rate")),
        (45.0, 3.0, Hold(until=at(3.0), reason="pair_rate")),
        (45.0, 6.0, Begin(pair_spent=45.0)),
        (45.0, 600.0, Begin(pair_spent=1.0)),
        (45.0, -3600.0, Hold(until=at(6.0), reason="pair_rate")),
        (44.0, -3600.0, Begin(pair_spent=45.0)),
        (44.0 + 1e-9, 0.0, Hold(until=at(0.001), reason="pair_rate")),
    ],
)
def test_the_pair_credit_refills_one_message_each_interval(
    spent: float, ago: float, expected: Begin | Hold
) -> None:
    """A burst of 45, then one every six seconds; a clock that is set back makes the wait no longer."""
    talk = conversation(pair_spent_count=spent, pair_spent_at=at(-ago))

    assert decide_begin(lane(talk, pair_burst=45, pair_seconds=6.0)) == expected


@given(
    version=st.integers(1, 2),
    arrived=st.integers(1, 3),
    decided=st.integers(0, 3),
    seen=st.integers(1, 3),
    tries=st.integers(0, 5),
    due=st.floats(-5, 5),
    author=st.sampled_from([Author.AI, Author.OPERATOR, Author.SYSTEM]),
    known=st.booleans(),
    paused=st.booleans(),
    spent=st.floats(0, 60),
)
def test_every_decision_moves_the_lane(
    version: int,
    arrived: int,
    decided: int,
    seen: int,
    tries: int,
    due: float,
    author: Author,
    known: bool,
    paused: bool,
    spent: float,
) -> None:
    """A hold ends later than now, a drop has a reason, and what begins has the authority and no unseen arrival."""
    talk = conversation(
        authority_version=version,
        arrival_count=arrived,
        arrivals_decided=min(decided, arrived),
        pair_spent_count=spent,
        pair_spent_at=at(0),
    )
    head = message(author=author, arrivals_seen=seen, hold_try_count=tries, due_at=at(due))

    found = decide_begin(lane(talk, head, channel_known=known, channel_paused=paused, pair_burst=45))

    match found:
        case Hold():
            assert found.until > talk.now
            assert found.reason
        case Drop():
            assert found.reason
        case Begin():
            assert version == 1
            assert head.due_at <= talk.now
            assert author is not Author.AI or arrived <= max(seen, min(decided, arrived))
