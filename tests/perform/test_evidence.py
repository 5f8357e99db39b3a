"""Statuses, late outcomes and expired attempts: what the channel says, in any order, decides once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from onevoice.flow.outbox.begin import Begun
from onevoice.flow.sweep.perform import sweep
from onevoice.ports.channel import Accepted, NotSent, OutcomeUnknown, Refused, StatusItem
from onevoice.vocabulary import ErrorAction, OutboundState
from tests.decide.facts import error
from tests.perform.stage import Stage


async def _begin(stage: Stage, *, customer: str = "ana") -> Begun:
    """A reply whose call is on the wire."""
    await stage.customer("oi", **{"from": customer})
    await stage.clock.advance(5.0)
    for turn in await stage.claim():
        await stage.answer(turn)
    (begun,) = await stage.begin()
    return begun


async def _state(stage: Stage) -> str:
    return (await stage.states("outbound_message"))[0]


async def test_a_send_without_an_end_is_uncertain_after_deadline_and_quarantine(stage: Stage) -> None:
    """A row leaves `sending` by its owner, by evidence, or at ``not_after`` plus the quarantine; not earlier."""
    await _begin(stage)
    await stage.after(20.0)
    assert await _state(stage) == "sending"
    await stage.after(0.1)

    assert await _state(stage) == "uncertain: sender_lost"
    assert [row["outcome"] for row in await stage.rows("attempt")] == ["expired"]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Accepted(external_id="w1"), "sent"),
        (NotSent(reason="no_connection"), "due"),
        (OutcomeUnknown(reason="timeout"), "uncertain: sender_lost"),
        (Refused(error=error(ErrorAction.DROP)), "failed: channel_drop"),
        (Refused(error=error(ErrorAction.UNKNOWN)), "uncertain: sender_lost"),
    ],
)
async def test_a_late_outcome_of_the_same_attempt_resolves_it(
    stage: Stage, outcome: Accepted | NotSent | OutcomeUnknown | Refused, state: str
) -> None:
    """A slow dispatcher comes back after the sweep: definite beats unknown."""
    begun = await _begin(stage)
    await stage.after(20.1)
    await stage.finish(begun, outcome)

    assert await _state(stage) == state


async def test_a_late_acceptance_is_true_of_a_message_that_was_given_up(stage: Stage) -> None:
    """Parked as of unknown outcome, then its owner comes back: the customer has it."""
    begun = await _begin(stage)
    await stage.after(20.1)
    await stage.after(91.0)
    assert await _state(stage) == "parked: outcome_unknown"

    assert await stage.finish(begun, Accepted(external_id="w1")) is OutboundState.SENT
    assert await stage.finish(begun, Accepted(external_id="w1")) is OutboundState.SENT


@pytest.mark.parametrize("settings", [{"outbox": {"after_uncertain": "retry_once"}}])
async def test_a_late_acceptance_saves_the_second_attempt(stage: Stage) -> None:
    """Back in the lane for want of evidence, it is not sent again once the evidence is there (I3)."""
    begun = await _begin(stage)
    await stage.clock.advance(20.1)
    await sweep(stage.runtime)
    await stage.clock.advance(90.1)
    await sweep(stage.runtime)
    assert await _state(stage) == "due"
    await stage.finish(begun, Accepted(external_id="w1"))
    await stage.run()

    assert await _state(stage) == "sent"
    assert stage.channel.deliveries == []


@pytest.mark.parametrize("settings", [{"outbox": {"after_uncertain": "retry_once"}}])
@pytest.mark.parametrize(
    "late", [Accepted(external_id="w1"), NotSent(reason="x"), Refused(error=error(ErrorAction.DROP))]
)
async def test_an_older_attempts_outcome_never_touches_a_newer_one(
    stage: Stage, late: Accepted | NotSent | Refused
) -> None:
    """It is kept with its attempt; the attempt on the wire has its own."""
    first = await _begin(stage)
    for seconds in (20.1, 90.1):
        await stage.clock.advance(seconds)
        await sweep(stage.runtime)
    (second,) = await stage.begin()
    await stage.finish(first, late)

    assert await _state(stage) == "sending"
    outcomes = {row["attempt"]: row["outcome"] for row in await stage.rows("attempt", "attempt, outcome")}
    assert outcomes[1] != "expired"
    assert outcomes[2] is None
    await stage.finish(second, NotSent(reason="no_connection"))
    assert await _state(stage) == "due"


async def test_an_older_attempts_failure_never_ends_a_newer_one(stage: Stage) -> None:
    """The same for what the channel says: a duplicate `failed` of attempt 1 while attempt 2 is on the wire."""
    first = await _begin(stage)
    await stage.finish(first, Accepted(external_id="w1"))
    failed = StatusItem(external_id="w1", status="failed", raw=b"{}", error=error(ErrorAction.RETRY))
    await stage.report(failed)
    await stage.clock.advance(2.0)
    (second,) = await stage.begin()
    await stage.report(failed)
    await stage.report(
        StatusItem(
            external_id="w1",
            status="failed",
            raw=b"{}",
            error=error(ErrorAction.DROP),
            correlation_id=first.delivery.correlation_id,
        )
    )
    await stage.status("w1", "delivered", correlation_id=first.delivery.correlation_id)
    assert await _state(stage) == "sending"

    assert await stage.finish(second, Accepted(external_id="w2")) is OutboundState.SENT


async def test_a_status_may_come_before_the_send_calls_answer(stage: Stage) -> None:
    """By its correlation id it resolves the attempt; the answer then finds nothing left to do."""
    begun = await _begin(stage)
    await stage.status("w1", "delivered", correlation_id=begun.delivery.correlation_id)
    assert await _state(stage) == "delivered"
    assert (await stage.rows("outbound_message"))[0]["external_id"] == "w1"

    assert await stage.finish(begun, Accepted(external_id="w1")) is OutboundState.DELIVERED
    assert [row["outcome"] for row in await stage.rows("attempt")] == ["accepted"]


async def test_a_lost_answer_is_reconciled_by_the_status(stage: Stage) -> None:
    """The POST timed out; the webhook brings our correlation id."""
    begun = await _begin(stage)
    await stage.finish(begun, OutcomeUnknown(reason="timeout"))
    await stage.status("w1", "sent", correlation_id=begun.delivery.correlation_id)
    await stage.status("w1", "read")

    assert await _state(stage) == "read"
    assert [row["outcome"] for row in await stage.rows("attempt")] == ["accepted"]


@pytest.mark.parametrize("correlation", ["", "not-an-id.1", "00000000-0000-7000-8000-00000000ffff.1", "x"])
async def test_a_foreign_correlation_id_is_nobodys(stage: Stage, correlation: str) -> None:
    """Somebody else's field may hold anything; the external id still joins."""
    begun = await _begin(stage)
    await stage.finish(begun, Accepted(external_id="w1"))
    await stage.status("w1", "read", correlation_id=correlation)
    await stage.status("w9", "read", correlation_id=correlation)

    assert await _state(stage) == "read"
    assert [row["external_id"] for row in await stage.rows("orphan_status")] == ["w9"]


async def test_a_status_before_its_message_is_adopted_when_the_answer_comes(stage: Stage) -> None:
    """Without a correlation id it waits for the external id to be known."""
    begun = await _begin(stage)
    for status in ("sent", "delivered", "delivered"):
        await stage.status("w1", status)
    assert len(await stage.rows("orphan_status")) == 2
    await stage.finish(begun, Accepted(external_id="w1"))

    assert await _state(stage) == "delivered"
    assert await stage.rows("orphan_status") == []


async def test_the_sweep_adopts_what_fell_between_two_commits(stage: Stage) -> None:
    """The status looked before the id was there, and was stored after the answer had looked for it."""
    begun = await _begin(stage)
    await stage.status("w1", "read")
    await stage.owner.execute("update orphan_status set external_id = 'w0'")
    await stage.finish(begun, Accepted(external_id="w1"))
    await stage.owner.execute("update orphan_status set external_id = 'w1'")
    await stage.after(1.0)

    assert await _state(stage) == "read"
    assert await stage.rows("orphan_status") == []


async def test_an_orphan_of_a_month_is_forgotten(stage: Stage) -> None:
    """It was never ours."""
    await stage.status("w1", "read")
    await stage.after(timedelta(days=30).total_seconds())
    assert len(await stage.rows("orphan_status")) == 1
    await stage.after(1.0)

    assert await stage.rows("orphan_status") == []


@pytest.mark.parametrize(
    ("statuses", "end"),
    [
        (("read", "delivered"), "read"),
        (("failed", "delivered"), "delivered"),
        (("failed", "sent"), "failed: channel_failed"),
        (("sent", "failed", "failed"), "failed: channel_failed"),
        (("delivered", "failed"), "delivered"),
        (("strange", "delivered"), "delivered"),
    ],
)
async def test_any_order_of_statuses(stage: Stage, statuses: tuple[str, ...], end: str) -> None:
    """`delivered` after `read`, after `failed`, and words nobody knows; one by one and all at once."""
    begun = await _begin(stage)
    await stage.finish(begun, Accepted(external_id="w1"))
    for status in statuses:
        await stage.status("w1", status)
    assert await _state(stage) == end

    again = await _begin(stage, customer="bia")
    await stage.finish(again, Accepted(external_id="w2"))
    await stage.webhook(*({"id": "w2", "status": status} for status in statuses))
    assert (await stage.states("outbound_message"))[1] == end


async def test_a_window_that_was_closed_three_seconds_after_the_answer(stage: Stage) -> None:
    """131047 after a 200: parked for want of a template, whatever late `sent` follows."""
    begun = await _begin(stage)
    await stage.finish(begun, Accepted(external_id="w1"))
    await stage.clock.advance(3.0)
    closed = error(ErrorAction.NEEDS_TEMPLATE, code="131047")
    await stage.report(StatusItem(external_id="w1", status="failed", raw=b"{}", error=closed))
    await stage.status("w1", "sent")

    assert await _state(stage) == "parked: needs_template"
    row = (await stage.rows("outbound_message"))[0]
    assert (row["error_code"], row["ended_at"]) == ("131047", stage.clock.now())


async def test_the_failure_of_an_unsent_orphan_keeps_its_classification(stage: Stage) -> None:
    """The error waits with its status, and counts when the message is known."""
    begun = await _begin(stage)
    closed = error(ErrorAction.NEEDS_TEMPLATE, code="131047")
    await stage.report(StatusItem(external_id="w1", status="failed", raw=b"{}", error=closed))
    await stage.finish(begun, Accepted(external_id="w1"))

    assert await _state(stage) == "parked: needs_template"


async def test_a_failed_status_is_retried_only_while_nothing_later_began(stage: Stage) -> None:
    """A later message is out: resending the earlier one would turn the order round (I5)."""
    first = await _begin(stage)
    await stage.finish(first, Accepted(external_id="w1"))
    second = await _begin(stage)
    await stage.finish(second, Accepted(external_id="w2"))
    again = error(ErrorAction.RETRY)
    await stage.report(StatusItem(external_id="w1", status="failed", raw=b"{}", error=again))
    await stage.report(StatusItem(external_id="w2", status="failed", raw=b"{}", error=again))

    assert await stage.states("outbound_message") == ["failed: channel_retry", "due"]
    await stage.after(2.0)
    assert stage.channel.deliveries[0].correlation_id == f"{second.message.id}.2"
