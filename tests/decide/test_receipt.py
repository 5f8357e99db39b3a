"""The lattice of delivery states: twice, late, out of order or about an older attempt, it never goes down."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.flow.receipt.decide import Reception, Standing, decide_status, is_late_ai_send
from onevoice.ports.channel import ChannelError
from onevoice.vocabulary import Author, AuthorityState, ErrorAction, OutboundState, StopAi
from tests.decide.facts import at, conversation, error

STATUSES = ("sent", "delivered", "read", "played")
RANK = {state: rank for rank, state in enumerate(STATUSES)}
S = OutboundState


def _standing(state: OutboundState, **facts: object) -> Standing:
    plain: dict[str, object] = {"state": state, "reason": None, "attempt_count": 1, "may_retry": True}
    return Standing(**(plain | facts))  # type: ignore[arg-type]


def _apply(standing: Standing, status: str, given_error: ChannelError | None = None) -> Standing:
    reception = decide_status(standing, status, given_error)
    if reception.state is None:
        return standing
    return replace(standing, state=reception.state, reason=reception.reason)


@pytest.mark.parametrize("order", list(permutations(STATUSES)))
def test_every_order_ends_at_the_highest(order: tuple[str, ...]) -> None:
    """Statuses in any order converge."""
    standing = _standing(S.SENDING)
    for status in order:
        standing = _apply(standing, status)

    assert standing.state is S.PLAYED


@given(st.lists(st.sampled_from([*STATUSES, "failed"]), max_size=12))
def test_it_never_goes_down(statuses: list[str]) -> None:
    """What the customer has, the customer has: after `delivered` no status takes it back."""
    standing = _standing(S.SENT)
    highest = 0
    for status in statuses:
        standing = _apply(standing, status, error(ErrorAction.DROP) if status == "failed" else None)
        if standing.state in RANK:
            assert RANK[standing.state] >= highest or highest == 0
            highest = max(highest, RANK[standing.state])
        else:
            assert highest == 0


@pytest.mark.parametrize("action", [None, *ErrorAction])
@pytest.mark.parametrize(
    "others", [("sent",), ("sent", "delivered"), ("delivered", "read"), ("sent", "read", "played")]
)
def test_a_failure_converges_with_the_other_statuses(
    action: ErrorAction | None, others: tuple[str, ...]
) -> None:
    """`failed` and the rest in any order: a later `delivered` corrects it, a late `sent` does not."""
    given_error = None if action is None else error(action)
    ends: set[OutboundState] = set()
    for order in permutations(("failed", *others)):
        standing = _standing(S.SENT)
        for status in order:
            standing = _apply(standing, status, given_error)
        ends.add(standing.state)

    assert len(ends) == 1
    highest = max(others, key=lambda status: RANK[status])
    assert highest == "sent" or ends == {S(highest)}


@pytest.mark.parametrize(
    ("standing", "status", "state"),
    [
        (_standing(S.SENDING), "sent", S.SENT),
        (_standing(S.UNCERTAIN, reason="timeout"), "sent", S.SENT),
        (_standing(S.UNCERTAIN, reason="timeout"), "delivered", S.DELIVERED),
        (_standing(S.PARKED, reason="outcome_unknown"), "sent", S.SENT),
        (_standing(S.DUE, reason="outcome_unknown"), "sent", S.SENT),
        (_standing(S.DUE, reason="sender_lost"), "sent", S.SENT),
        (_standing(S.PARKED, reason="needs_template"), "sent", None),
        (_standing(S.DUE, reason="channel_refused"), "sent", None),
        (_standing(S.FAILED, reason="channel_drop"), "sent", None),
        (_standing(S.FAILED, reason="channel_drop"), "delivered", S.DELIVERED),
        (_standing(S.PARKED, reason="needs_template"), "read", S.READ),
        (_standing(S.DUE, reason="channel_refused"), "delivered", S.DELIVERED),
        (_standing(S.REVOKED, reason="authority_revoked"), "delivered", S.DELIVERED),
        (_standing(S.REVOKED, reason="authority_revoked"), "sent", None),
        (_standing(S.REVOKED, reason="authority_revoked", attempt_count=0), "delivered", None),
        (_standing(S.PARKED, reason="triage_undecided", attempt_count=0), "delivered", None),
        (_standing(S.CANCELLED, reason="cancelled", attempt_count=0), "delivered", None),
        (_standing(S.DELIVERED), "sent", None),
        (_standing(S.READ), "read", None),
        (_standing(S.SENDING, is_older_attempt=True), "delivered", None),
        (_standing(S.SENDING, is_older_attempt=True), "sent", None),
        (_standing(S.DUE, reason="channel_refused", is_older_attempt=True), "delivered", S.DELIVERED),
        (_standing(S.SENT), "warned", None),
        (_standing(S.SENT), "due", None),
    ],
)
def test_what_a_positive_status_corrects(
    standing: Standing, status: str, state: OutboundState | None
) -> None:
    """It ends doubt; that the customer has it ends any state; nothing ends an attempt that is on the wire."""
    assert decide_status(standing, status, None).state is state


@pytest.mark.parametrize(
    ("action", "state", "reason"),
    [
        (ErrorAction.RETRY, S.DUE, "channel_refused"),
        (ErrorAction.SLOW, S.DUE, "channel_refused"),
        (ErrorAction.NEEDS_TEMPLATE, S.PARKED, "needs_template"),
        (ErrorAction.PARK, S.PARKED, "channel_refused"),
        (ErrorAction.DROP, S.FAILED, "channel_drop"),
        (ErrorAction.FIX, S.FAILED, "channel_fix"),
        (ErrorAction.UNKNOWN, S.FAILED, "channel_unknown"),
    ],
)
@pytest.mark.parametrize("before", [S.SENDING, S.UNCERTAIN, S.SENT])
def test_an_asynchronous_failure_uses_the_same_table(
    action: ErrorAction, state: OutboundState, reason: str, before: OutboundState
) -> None:
    """131047 three seconds after a 200 is parked like one that came at once."""
    found = decide_status(_standing(before), "failed", error(action, stop_ai=StopAi.CONVERSATION))

    assert (found.state, found.reason, found.stop_ai) == (state, reason, StopAi.CONVERSATION)


@pytest.mark.parametrize(
    "facts", [{"may_retry": False}, {"attempt_count": 7}], ids=["may not be retried", "retries exhausted"]
)
def test_a_failure_that_may_not_be_retried_ends(facts: dict[str, object]) -> None:
    """Nothing is resent by itself once a later message began, or under another authority."""
    found = decide_status(_standing(S.SENT, **facts), "failed", error(ErrorAction.RETRY))

    assert found == Reception(state=S.FAILED, reason="channel_retry")


@pytest.mark.parametrize("state", [S.SENDING, S.SENT, S.UNCERTAIN])
def test_the_failure_of_an_older_attempt_touches_nothing(state: OutboundState) -> None:
    """A newer attempt has its own outcome."""
    assert (
        decide_status(_standing(state, is_older_attempt=True), "failed", error(ErrorAction.DROP)).state
        is None
    )


@pytest.mark.parametrize("state", [s for s in S if s not in (S.SENDING, S.UNCERTAIN, S.SENT)])
def test_a_failure_changes_nothing_that_is_not_on_its_way(state: OutboundState) -> None:
    """Twice, or after the message was given up, delivered or put back into the lane."""
    standing = _standing(state, reason="because")

    assert decide_status(standing, "failed", error(ErrorAction.DROP)).state is None


@given(
    state=st.sampled_from(list(S)),
    status=st.sampled_from([*STATUSES, "failed", "odd"]),
    action=st.sampled_from([None, *ErrorAction]),
    attempts=st.integers(0, 9),
    may_retry=st.booleans(),
    is_older=st.booleans(),
)
def test_every_reception_is_whole(
    state: OutboundState,
    status: str,
    action: ErrorAction | None,
    attempts: int,
    may_retry: bool,
    is_older: bool,
) -> None:
    """A bad end has a reason, and only a permitted retry has a wait."""
    standing = Standing(
        state=state, reason="because", attempt_count=attempts, may_retry=may_retry, is_older_attempt=is_older
    )

    found = decide_status(standing, status, None if action is None else error(action))

    if found.state in (S.FAILED, S.PARKED, S.DUE):
        assert found.reason
    assert (found.state is S.DUE) is (found.retry_in_seconds is not None)
    assert found.state is not S.DUE or may_retry


@pytest.mark.parametrize(
    ("author", "status", "state", "moment", "is_late"),
    [
        (Author.AI, "sent", AuthorityState.HUMAN_ACTIVE, at(1), True),
        (Author.AI, "sent", AuthorityState.HUMAN_ACTIVE, at(0), False),
        (Author.AI, "sent", AuthorityState.HANDOFF_PENDING, at(1), False),
        (Author.AI, "delivered", AuthorityState.HUMAN_ACTIVE, at(1), False),
        (Author.AI, "sent", AuthorityState.HUMAN_ACTIVE, None, False),
        (Author.OPERATOR, "sent", AuthorityState.HUMAN_ACTIVE, at(1), False),
    ],
)
def test_a_late_ai_send_is_seen(
    author: Author, status: str, state: AuthorityState, moment: datetime | None, is_late: bool
) -> None:
    """What the channel took after the takeover was confirmed is counted; it must be none (I1)."""
    talk = conversation(authority_state=state, authority_since=at(0))

    assert is_late_ai_send(talk, author, status, moment) is is_late
