"""A message begun under one authority and ended under another: what may be tried again, and what is only told."""

from __future__ import annotations

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.flow.sweep import perform as sweep_steps
from onevoice.flow.sweep.perform import sweep
from onevoice.ports.channel import Accepted, NotSent, OutcomeUnknown, Refused, StatusItem
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import ErrorAction
from tests.decide.facts import error
from tests.perform.stage import AUTOMATION, Stage

AGAIN = error(ErrorAction.RETRY)


async def _sealed(stage: Stage) -> None:
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)


async def test_an_operators_message_goes_on_under_the_next_owner(stage: Stage) -> None:
    """It was on the wire while the conversation was transferred, and did not leave: their own are kept."""
    ana, bia = await stage.operator("Ana"), await stage.operator("Bia")
    await stage.customer("oi")
    await stage.command(Command.TAKE, ana)
    await stage.reply(ana, "já vejo")
    (begun,) = await stage.begin()
    await stage.command(Command.TRANSFER, ana, to=bia.operator)
    await stage.finish(begun, NotSent(reason="no_connection"))
    await stage.after(2.0)

    assert stage.sent == ["já vejo"]


async def test_a_forced_take_ends_the_other_operators_message(stage: Stage) -> None:
    """On the wire, it only forbids any further attempt."""
    ana, chief = await stage.operator("Ana"), await stage.operator("Bia", role="admin")
    await stage.customer("oi")
    await stage.command(Command.TAKE, ana)
    await stage.reply(ana, "já vejo")
    (begun,) = await stage.begin()
    await stage.command(Command.TAKE_FORCED, chief)
    await stage.finish(begun, NotSent(reason="no_connection"))
    await stage.after(5.0)

    assert stage.sent == []
    assert await stage.states("outbound_message") == ["revoked: authority_revoked"]


@pytest.mark.parametrize("outcome", [NotSent(reason="x"), Refused(error=AGAIN)])
async def test_an_ai_message_that_failed_after_the_handoff_is_not_tried_again(
    stage: Stage, outcome: NotSent | Refused
) -> None:
    """Its epoch is over (I1)."""
    await _sealed(stage)
    (begun,) = await stage.begin()
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    await stage.finish(begun, outcome)
    await stage.after(60.0)

    assert await stage.states("outbound_message") == ["revoked: authority_revoked"]
    assert stage.channel.deliveries == []


async def test_a_failed_status_after_the_handoff_resends_nothing(stage: Stage) -> None:
    """Taken by the channel under the AI, failed under a human: told, not retried."""
    await _sealed(stage)
    await stage.send()
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    await stage.report(StatusItem(external_id="sent-1", status="failed", raw=b"{}", error=AGAIN))
    await stage.after(60.0)

    assert await stage.states("outbound_message") == ["failed: channel_retry"]
    assert len(stage.channel.deliveries) == 1


async def test_a_failed_status_under_the_returned_ai_resends_nothing_either(stage: Stage) -> None:
    """An old epoch never comes back to life."""
    await _sealed(stage)
    await stage.send()
    for command in (Command.REQUEST_HANDOFF, Command.RELEASE):
        await stage.command(command, AUTOMATION)
    await stage.report(StatusItem(external_id="sent-1", status="failed", raw=b"{}", error=AGAIN))
    await stage.after(60.0)

    assert len(stage.channel.deliveries) == 1


@pytest.mark.parametrize("settings", [{"outbox": {"after_uncertain": "retry_once"}}])
async def test_an_uncertain_ai_message_is_not_retried_under_a_human(stage: Stage) -> None:
    """The mark forbids the second attempt that the tenant would have allowed."""
    await _sealed(stage)
    (begun,) = await stage.begin()
    await stage.finish(begun, OutcomeUnknown(reason="timeout"))
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    await stage.after(91.0)

    assert await stage.states("outbound_message") == ["parked: outcome_unknown"]
    assert stage.channel.deliveries == []


@pytest.mark.parametrize(("taken_before", "late"), [(False, 0), (True, 1)])
async def test_a_late_ai_send_is_counted(stage: Stage, taken_before: bool, late: int) -> None:
    """Only what the channel took while nobody knew of it, after the takeover was confirmed (I1)."""
    ana = await stage.operator("Ana")
    await _sealed(stage)
    (begun,) = await stage.begin()
    if not taken_before:
        await stage.finish(begun, Accepted(external_id="w1"))
    await stage.command(Command.TAKE, ana)
    await stage.after(20.1)
    assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    at = START.replace(minute=30).isoformat()
    await stage.status("w1", "sent", at=at, correlation_id=begun.delivery.correlation_id)

    assert stage.count("late_ai_send") == late


async def test_a_step_of_the_sweep_that_fails_keeps_no_other_from_its_work(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One poisoned row must not stop lost turns from being freed; the failure is still told."""

    async def broken(runtime: object, *, limit: int) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(sweep_steps, "STEPS", (broken, *sweep_steps.STEPS))
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    await stage.claim()
    await stage.clock.advance(31.0)
    with pytest.raises(ExceptionGroup) as told:
        await sweep(stage.runtime)

    assert [type(error) for error in told.value.exceptions] == [ZeroDivisionError]
    await stage.run()
    assert stage.sent == ["Certo!"]
