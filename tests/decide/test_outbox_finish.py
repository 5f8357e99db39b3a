"""What an outcome makes of a message: only what is known as not accepted is tried again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.flow.outbox.decide import (
    NOT_SENT_RETRIES_MAX,
    RETRY_SECONDS_MAX,
    After,
    Waits,
    decide_finish,
    decide_uncertain_end,
    is_resolved_by,
)
from onevoice.ports.channel import Accepted, NotSent, Outcome, OutcomeUnknown, Refused
from onevoice.vocabulary import AfterUncertain, ErrorAction, OutboundState, StopAi
from tests.decide.facts import error, message

WAITS = Waits(uncertain_wait_seconds=90.0, after_uncertain=AfterUncertain.PARK, jitter=0.5)
ACCEPTED = Accepted(external_id="wamid.1")
UNKNOWN = OutcomeUnknown(reason="timeout")


def _finish(outcome: Outcome, *, pair_slow_count: int = 0, **facts: Any) -> After:
    plain = {"state": OutboundState.SENDING, "attempt_count": 1}
    return decide_finish(message(**(plain | facts)), outcome, WAITS, pair_slow_count=pair_slow_count)


@pytest.mark.parametrize(
    ("outcome", "state", "reason"),
    [
        (ACCEPTED, OutboundState.SENT, None),
        (UNKNOWN, OutboundState.UNCERTAIN, "timeout"),
        (NotSent(reason="no_connection"), OutboundState.DUE, "no_connection"),
        (Refused(error=error(ErrorAction.RETRY)), OutboundState.DUE, "channel_refused"),
        (Refused(error=error(ErrorAction.SLOW)), OutboundState.DUE, "channel_slow"),
        (Refused(error=error(ErrorAction.UNKNOWN)), OutboundState.UNCERTAIN, "channel_ambiguous"),
        (Refused(error=error(ErrorAction.NEEDS_TEMPLATE)), OutboundState.PARKED, "needs_template"),
        (Refused(error=error(ErrorAction.PARK)), OutboundState.PARKED, "channel_refused"),
        (Refused(error=error(ErrorAction.DROP)), OutboundState.FAILED, "channel_drop"),
        (Refused(error=error(ErrorAction.FIX)), OutboundState.FAILED, "channel_fix"),
    ],
)
def test_each_outcome(outcome: Outcome, state: OutboundState, reason: str | None) -> None:
    """One line per outcome and per action of the channel's error table."""
    after = _finish(outcome)

    assert (after.state, after.reason) == (state, reason)


def test_every_action_of_the_error_table_is_decided() -> None:
    """A new action cannot be forgotten here: every one leads somewhere."""
    assert all(_finish(Refused(error=error(action))).state for action in ErrorAction)


@pytest.mark.parametrize(("attempt", "wait"), [(1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (12, 150.0)])
def test_the_back_off_doubles_with_jitter_up_to_its_bound(attempt: int, wait: float) -> None:
    """2 s at first, doubling, at most five minutes, times the jitter."""
    assert _finish(NotSent(reason="no_connection"), attempt_count=attempt).due_in_seconds == wait


def test_the_tables_own_wait_beats_the_back_off() -> None:
    """The channel knows best when to come back."""
    refused = Refused(error=error(ErrorAction.RETRY, retry_after_seconds=17.0))

    assert _finish(refused, attempt_count=3).due_in_seconds == 17.0


@pytest.mark.parametrize(("retries_max", "attempt", "is_over"), [(6, 6, False), (6, 7, True), (0, 1, True)])
def test_after_so_many_retries_it_is_parked(retries_max: int, attempt: int, is_over: bool) -> None:
    """``retries_max`` counts retries, not attempts."""
    after = _finish(Refused(error=error(ErrorAction.RETRY, retries_max=retries_max)), attempt_count=attempt)

    assert (after.state is OutboundState.PARKED) is is_over
    assert not is_over or after.reason == "retries_exhausted"


def test_a_message_that_never_left_is_tried_longer() -> None:
    """No byte left this process, so that trying again is always safe; still not for ever."""
    assert _finish(NotSent(reason="x"), attempt_count=NOT_SENT_RETRIES_MAX).state is OutboundState.DUE
    assert _finish(NotSent(reason="x"), attempt_count=NOT_SENT_RETRIES_MAX + 1).state is OutboundState.PARKED


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (NotSent(reason="x"), OutboundState.REVOKED),
        (Refused(error=error(ErrorAction.RETRY)), OutboundState.REVOKED),
        (Refused(error=error(ErrorAction.SLOW)), OutboundState.REVOKED),
        (UNKNOWN, OutboundState.UNCERTAIN),
        (ACCEPTED, OutboundState.SENT),
    ],
)
def test_a_transition_forbids_any_further_attempt(outcome: Outcome, state: OutboundState) -> None:
    """The mark ends retries, and hides nothing of what happened (I1)."""
    assert _finish(outcome, no_retry=True).state is state


@pytest.mark.parametrize(("slowed", "wait"), [(0, 1.0), (1, 4.0), (2, 16.0), (5, 1024.0), (9, 1024.0)])
def test_a_slowed_pair_waits_four_times_as_long_each_time(slowed: int, wait: float) -> None:
    """131056 holds its conversation, not the number."""
    after = _finish(Refused(error=error(ErrorAction.SLOW)), pair_slow_count=slowed)

    assert (after.due_in_seconds, after.pair_was_slow, after.slow_channel_seconds) == (wait, True, None)


def test_a_slowed_channel_waits_as_a_whole() -> None:
    """A throughput error is no fault of this pair."""
    slow = Refused(error=error(ErrorAction.SLOW, slows_channel=True, retry_after_seconds=3.0))

    after = _finish(slow)

    assert (after.due_in_seconds, after.pair_was_slow, after.slow_channel_seconds) == (3.0, False, 3.0)


@pytest.mark.parametrize("action", list(ErrorAction))
@pytest.mark.parametrize("no_retry", [False, True])
def test_an_error_stops_automation_whatever_becomes_of_its_message(
    action: ErrorAction, no_retry: bool
) -> None:
    """Retried, parked, failed or revoked: the extent of the stop is the table's."""
    after = _finish(Refused(error=error(action, stop_ai=StopAi.CHANNEL)), no_retry=no_retry)

    assert after.stop_ai is StopAi.CHANNEL
    assert after.error_code == "1"


@pytest.mark.parametrize(
    ("policy", "attempt", "no_retry", "state"),
    [
        (AfterUncertain.PARK, 1, False, OutboundState.PARKED),
        (AfterUncertain.RETRY_ONCE, 1, False, OutboundState.DUE),
        (AfterUncertain.RETRY_ONCE, 2, False, OutboundState.PARKED),
        (AfterUncertain.RETRY_ONCE, 1, True, OutboundState.PARKED),
    ],
)
def test_the_end_of_an_uncertain_wait(
    policy: AfterUncertain, attempt: int, no_retry: bool, state: OutboundState
) -> None:
    """Parked for a human, or once more where the tenant chose so and the authority stands."""
    waits = Waits(uncertain_wait_seconds=90.0, after_uncertain=policy, jitter=0.5)
    uncertain = message(state=OutboundState.UNCERTAIN, attempt_count=attempt, no_retry=no_retry)

    after = decide_uncertain_end(uncertain, waits)

    assert (after.state, after.reason) == (state, "outcome_unknown")


@pytest.mark.parametrize(
    ("state", "resolving"),
    [
        (OutboundState.SENDING, {"accepted", "unknown", "refused", "ambiguous", "not_sent"}),
        (OutboundState.UNCERTAIN, {"accepted", "refused", "not_sent"}),
        (OutboundState.DUE, {"accepted"}),
        (OutboundState.PARKED, {"accepted"}),
        (OutboundState.FAILED, {"accepted"}),
        (OutboundState.REVOKED, {"accepted"}),
        (OutboundState.SENT, set[str]()),
        (OutboundState.DELIVERED, set[str]()),
        (OutboundState.READ, set[str]()),
        (OutboundState.PLAYED, set[str]()),
        (OutboundState.CANCELLED, set[str]()),
        (OutboundState.SUPERSEDED, set[str]()),
    ],
)
def test_definite_beats_unknown_at_any_time(state: OutboundState, resolving: set[str]) -> None:
    """A late acceptance is true also of a message that was given up; nothing else undoes a definite state."""
    outcomes: dict[str, Outcome] = {
        "accepted": ACCEPTED,
        "unknown": UNKNOWN,
        "refused": Refused(error=error(ErrorAction.DROP)),
        "ambiguous": Refused(error=error(ErrorAction.UNKNOWN)),
        "not_sent": NotSent(reason="x"),
    }

    assert {name for name, outcome in outcomes.items() if is_resolved_by(state, outcome)} == resolving


_outcomes = st.one_of(
    st.just(ACCEPTED),
    st.just(UNKNOWN),
    st.just(NotSent(reason="no_connection")),
    st.builds(
        Refused,
        error=st.builds(
            error,
            st.sampled_from(list(ErrorAction)),
            retries_max=st.integers(0, 8),
            retry_after_seconds=st.sampled_from([None, 0.0, 5.0]),
            slows_channel=st.booleans(),
        ),
    ),
)


@given(
    outcome=_outcomes,
    attempt=st.integers(1, 20),
    no_retry=st.booleans(),
    slowed=st.integers(0, 9),
    jitter=st.floats(0.5, 0.99),
)
def test_every_end_is_whole(
    outcome: Outcome, attempt: int, no_retry: bool, slowed: int, jitter: float
) -> None:
    """Every state but `sent` has a reason; only what was not accepted comes back, later than now, and not for ever."""
    waits = Waits(uncertain_wait_seconds=90.0, after_uncertain=AfterUncertain.PARK, jitter=jitter)
    sending = message(state=OutboundState.SENDING, attempt_count=attempt, no_retry=no_retry)

    after = decide_finish(sending, outcome, waits, pair_slow_count=slowed)

    assert after.state is OutboundState.SENT or after.reason
    assert (after.state is OutboundState.DUE) is (after.due_in_seconds is not None)
    if after.due_in_seconds is not None:
        assert not no_retry
        assert attempt <= max(NOT_SENT_RETRIES_MAX, 8)
        assert 0 <= after.due_in_seconds <= max(RETRY_SECONDS_MAX, 1024.0)
    if isinstance(outcome, OutcomeUnknown):
        assert after.state is OutboundState.UNCERTAIN
