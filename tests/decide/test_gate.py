"""The gate's order of checks: every row of architecture section 8, and that an earlier row beats a later one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.flow.gate.decide import CutShort, Facts, Failure, Limits, Verdict, judge
from onevoice.flow.gate.policy import PolicyHit
from onevoice.vocabulary import HandoffRequest, OutgoingMessage, Proposal, TurnState, WhileRunning
from tests.decide.facts import at, conversation, turn

SAYS = (OutgoingMessage(text="Sexta às 9h."),)
ASKS = HandoffRequest(reason="customer_request", note="contrato")
POLICY = PolicyHit(reason="policy", note="preços", suspends=False)
LIMITS = Limits(max_wait_seconds=20.0, retry_for_seconds=300.0, min_confidence=0.5)

# What makes each row apply, in the order in which the rows are checked.
ROWS: Final[list[tuple[str, Mapping[str, Any], str]]] = [
    (
        "the turn had ended",
        {"turn": {"state": TurnState.ABANDONED, "reason": "lease_lost"}},
        "abandoned: lease_lost",
    ),
    ("the version changed", {"conversation": {"authority_version": 2}}, "obsolete: authority_revoked"),
    ("a newer message", {"conversation": {"arrival_count": 2}}, "discarded: newer_message"),
    ("the agent asks for a human", {"proposal": {"handoff": ASKS}}, "handoff: customer_request"),
    ("a policy", {"policy": POLICY}, "handoff: policy"),
    ("unsure", {"proposal": {"confidence": 0.49}}, "handoff: low_confidence"),
    ("nothing to say", {"proposal": {"messages": ()}}, "silent: no_reply"),
    ("the window is closed", {"conversation": {"window_expires_at": at(0)}}, "parked: needs_template"),
    ("nothing of it", {}, "sealed: answered"),
]


def _facts(*applied: Mapping[str, Any], **more: Any) -> Facts:
    merged: dict[str, dict[str, Any]] = {"turn": {}, "conversation": {}, "proposal": {"messages": SAYS}}
    plain: dict[str, Any] = {}
    for row in (*applied, more):
        for name, value in row.items():
            if name in merged:
                merged[name] |= value
            else:
                plain[name] = value
    values: dict[str, Any] = {
        "conversation": conversation(**merged["conversation"]),
        "turn": turn(**merged["turn"]),
        "answer": Proposal(**merged["proposal"]),
        "limits": LIMITS,
        "wrote": False,
    }
    return Facts(**(values | plain))


def _said(verdict: Verdict) -> str:
    return f"{verdict.state.value}: {verdict.reason}"


@pytest.mark.parametrize(("name", "makes", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_alone(name: str, makes: Mapping[str, Any], expected: str) -> None:
    """Each check leads to its own end."""
    assert _said(judge(_facts(makes))) == expected


@pytest.mark.parametrize("first", range(len(ROWS) - 1))
def test_the_first_row_that_applies_decides(first: int) -> None:
    """With everything that comes later true as well, the earlier row is the verdict."""
    later = [makes for _, makes, _ in ROWS[first:]]

    assert _said(judge(_facts(*reversed(later)))) == ROWS[first][2]


@pytest.mark.parametrize(
    ("policy", "wrote", "arrived", "waited", "expected"),
    [
        (WhileRunning.DISCARD, False, 2, 19.9, "discarded: newer_message"),
        (WhileRunning.DISCARD, True, 2, 19.9, "discarded: newer_message"),
        (WhileRunning.DISCARD, False, 1, 19.9, "sealed: answered"),
        (WhileRunning.DISCARD, False, 2, 20.0, "sealed: answered"),
        (WhileRunning.DISCARD_UNLESS_WROTE, False, 2, 19.9, "discarded: newer_message"),
        (WhileRunning.DISCARD_UNLESS_WROTE, True, 2, 19.9, "sealed: answered"),
        (WhileRunning.DISCARD_UNLESS_WROTE, False, 2, 20.0, "sealed: answered"),
        (WhileRunning.ENQUEUE, False, 2, 0.0, "sealed: answered"),
        (WhileRunning.TRIAGE, False, 2, 0.0, "sealed: answered"),
    ],
)
def test_a_newer_message_by_policy_write_and_cap(
    policy: WhileRunning, wrote: bool, arrived: int, waited: float, expected: str
) -> None:
    """A reply is discarded only where its policy says so, it tells of no write, and the cap is not reached (I6)."""
    facts = _facts(
        {"turn": {"while_running": policy}, "conversation": {"arrival_count": arrived, "now": at(waited)}},
        wrote=wrote,
    )

    assert _said(judge(facts)) == expected


@pytest.mark.parametrize(
    ("policy", "seen"), [(WhileRunning.ENQUEUE, 3), (WhileRunning.TRIAGE, 1), (WhileRunning.DISCARD, 3)]
)
def test_only_under_triage_has_a_reply_not_seen_what_came_meanwhile(policy: WhileRunning, seen: int) -> None:
    """Sealed with the arrivals it saw, so that triage decides over the rest."""
    facts = _facts({"turn": {"while_running": policy}, "conversation": {"arrival_count": 3, "now": at(30)}})

    assert judge(facts).arrivals_seen == seen


@pytest.mark.parametrize(
    ("makes", "seals", "suggests"),
    [
        ({"proposal": {"handoff": ASKS}}, True, False),
        ({"proposal": {"handoff": ASKS, "messages": ()}}, False, False),
        ({"policy": POLICY}, False, True),
        ({"policy": POLICY, "wrote": True}, True, False),
        ({"proposal": {"confidence": 0.1}}, False, True),
        ({"proposal": {"confidence": 0.1}, "wrote": True}, True, False),
        ({"policy": POLICY, "proposal": {"messages": ()}}, False, False),
    ],
)
def test_what_becomes_of_the_words_of_a_handoff(
    makes: Mapping[str, Any], seals: bool, suggests: bool
) -> None:
    """A goodbye and what tells of a write go out; any other text is only a suggestion. The burst stays open."""
    verdict = judge(_facts(makes))

    assert (verdict.state, verdict.seals, verdict.suggests, verdict.answers) == (
        TurnState.HANDOFF,
        seals,
        suggests,
        False,
    )
    assert verdict.handoff is not None


@pytest.mark.parametrize(
    ("confidence", "is_unsure"), [(0.5, False), (0.49, True), (None, False), (0.0, True)]
)
def test_the_threshold_itself_is_sure_enough(confidence: float | None, is_unsure: bool) -> None:
    """Below the threshold, and only where the agent gave a confidence."""
    verdict = judge(_facts({"proposal": {"confidence": confidence}}))

    assert (verdict.reason == "low_confidence") is is_unsure


def test_a_suspending_policy_suspends() -> None:
    """An opt-out blocks automation instead of asking for a human."""
    hit = PolicyHit(reason="customer_request", note="opt-out", suspends=True)

    assert judge(_facts(policy=hit)).suspends


@pytest.mark.parametrize(
    ("expires", "state"), [(-1, "parked"), (0, "parked"), (1, "sealed"), (None, "sealed")]
)
def test_the_window_closes_at_its_instant(expires: float | None, state: str) -> None:
    """A reply sealed at or after it can only wait for a template."""
    expires_at = None if expires is None else at(expires)

    verdict = judge(_facts({"conversation": {"window_expires_at": expires_at}}))

    assert (verdict.state, verdict.parks, verdict.seals) == (state, state == "parked", True)


def test_a_handoff_outside_the_window_parks_its_goodbye() -> None:
    """What cannot leave is kept, and the human is asked all the same."""
    verdict = judge(_facts({"proposal": {"handoff": ASKS}, "conversation": {"window_expires_at": at(-1)}}))

    assert (verdict.state, verdict.seals, verdict.parks) == (TurnState.HANDOFF, True, True)


def test_a_call_cut_short_is_a_discard_unless_the_authority_moved() -> None:
    """I7: stale is not broken, and authority comes first."""
    assert _said(judge(_facts(answer=CutShort()))) == "discarded: newer_message"
    revoked = _facts({"conversation": {"authority_version": 2}}, answer=CutShort())
    assert _said(judge(revoked)) == "obsolete: authority_revoked"


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (6, 30), (60, 30)]
)
def test_the_back_off_doubles_up_to_half_a_minute(failures: int, wait: float) -> None:
    """Again after about 1 s, doubling, at most 30 s apart."""
    failing = {"conversation": {"agent_failure_count": failures, "agent_failing_since": at(0)}}

    verdict = judge(_facts(failing, answer=Failure(reason="overloaded", retry=True)))

    assert (verdict.state, verdict.retry_in_seconds, verdict.handoff) == (TurnState.FAILED, wait, None)


@pytest.mark.parametrize(
    ("retry", "failing_for", "retry_after", "gives_up", "wait"),
    [
        (True, 298.9, None, False, 1.0),
        (True, 299.1, None, True, None),
        (False, 0.0, None, True, None),
        (True, 0.0, 12.5, False, 12.5),
        (True, 0.0, 0.2, False, 1.0),
        (True, 0.0, 301.0, True, None),
    ],
)
def test_after_retry_for_a_human_is_asked(
    retry: bool, failing_for: float, retry_after: float | None, gives_up: bool, wait: float | None
) -> None:
    """No try is planned beyond the limit, and the provider's own wait is respected."""
    failing = {"conversation": {"agent_failing_since": at(-failing_for)}}
    failure = Failure(reason="overloaded", retry=retry, retry_after_seconds=retry_after)

    verdict = judge(_facts(failing, answer=failure))

    assert verdict.retry_in_seconds == wait
    assert (verdict.handoff is not None) is gives_up
    assert verdict.handoff is None or verdict.handoff.reason == "integration_failure"
    assert not verdict.answers


def test_without_retries_the_first_failure_asks_a_human() -> None:
    """``retry_for_seconds = 0`` means never."""
    limits = Limits(max_wait_seconds=20.0, retry_for_seconds=0.0, min_confidence=0.0)

    assert judge(_facts(answer=Failure(reason="broken", retry=True), limits=limits)).handoff is not None


_answers = st.one_of(
    st.builds(
        Proposal,
        messages=st.sampled_from([(), SAYS]),
        handoff=st.sampled_from([None, ASKS]),
        confidence=st.one_of(st.none(), st.floats(0, 1)),
        silence_reason=st.sampled_from([None, "withdrawn"]),
    ),
    st.builds(
        Failure,
        reason=st.just("broken"),
        retry=st.booleans(),
        retry_after_seconds=st.sampled_from([None, 9.0]),
    ),
    st.just(CutShort()),
)


@given(
    answer=_answers,
    policy=st.sampled_from(list(WhileRunning)),
    wrote=st.booleans(),
    arrived=st.integers(1, 4),
    version=st.integers(1, 2),
    waited=st.floats(0, 400),
    window=st.sampled_from([None, -1.0, 1000.0]),
    hit=st.sampled_from([None, POLICY]),
)
def test_every_verdict_is_whole(
    answer: Proposal | Failure | CutShort,
    policy: WhileRunning,
    wrote: bool,
    arrived: int,
    version: int,
    waited: float,
    window: float | None,
    hit: PolicyHit | None,
) -> None:
    """A terminal state with a reason; a stale end writes nothing; a seal has seen what was there; I1 and I7 hold."""
    verdict = judge(
        _facts(
            {
                "turn": {"while_running": policy},
                "conversation": {
                    "arrival_count": arrived,
                    "authority_version": version,
                    "now": at(waited),
                    "window_expires_at": None if window is None else at(window),
                },
            },
            answer=answer,
            wrote=wrote,
            policy=hit,
        )
    )

    assert verdict.reason
    assert verdict.state is not TurnState.RUNNING
    if verdict.state in (TurnState.OBSOLETE, TurnState.DISCARDED, TurnState.FAILED):
        assert not verdict.seals
        assert not verdict.answers
    if verdict.seals:
        assert version == 1
        assert 1 <= verdict.arrivals_seen <= arrived
    assert not verdict.parks or verdict.seals
    assert (verdict.state is TurnState.HANDOFF) <= (verdict.handoff is not None)
