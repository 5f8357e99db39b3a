"""Rows whose neighbours disagree are counted, lost timers derived again, and every step is counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onevoice.flow.inbound.intake import Intake
from onevoice.flow.sweep.perform import reconcile
from onevoice.flow.turn.perform import abandon_drained, claim
from onevoice.ports.channel import Accepted
from onevoice.ports.wakeup import Work
from tests.perform.stage import Stage


class _Nudges:
    """A wake-up that only notes what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Work, float]] = []

    def nudge(self, work: Work, *, in_seconds: float = 0.0) -> None:
        self.told.append((work, in_seconds))

    async def wait(self, work: Work, *, seconds_max: float) -> None: ...


async def _divergence(stage: Stage) -> dict[str, float]:
    await reconcile(stage.runtime)
    return {
        sample.labels["between"]: sample.value
        for family in stage.runtime.telemetry.divergence.collect()
        for sample in family.samples
    }


async def test_a_lost_timer_is_counted_and_derived_again(stage: Stage) -> None:
    """Open messages, AI active, and nothing that will ever look at them."""
    await stage.customer("oi")
    await stage.owner.execute("update conversation set turn_due_at = null")
    await stage.clock.advance(59.0)
    assert (await _divergence(stage))["turn_timer"] == 0
    await stage.clock.advance(2.0)
    assert (await _divergence(stage))["turn_timer"] == 1
    await stage.run()

    assert stage.sent == ["Certo!"]
    assert (await _divergence(stage))["turn_timer"] == 0


async def test_a_conversation_that_names_a_turn_which_does_not_run_is_mended(stage: Stage) -> None:
    """The turn ended and its conversation still points at it."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await abandon_drained(stage.runtime, [turn])
    await stage.owner.execute("update conversation set turn_due_at = null, running_turn_id = $1", turn.id)
    await stage.clock.advance(61.0)
    await reconcile(stage.runtime)
    await stage.run()

    assert stage.sent == ["Certo!"]


async def test_a_healthy_running_turn_is_left_alone(stage: Stage) -> None:
    """A long call with messages behind it is no lost timer."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.customer("mais")
    await stage.clock.advance(120.0)

    assert (await _divergence(stage))["turn_timer"] == 0
    assert (await stage.conversation())["running_turn_id"] == turn.id
    await stage.answer(turn)


async def test_sends_without_an_end_or_a_status_are_counted(stage: Stage) -> None:
    """Past their deadline, or an hour without a word from the channel; statuses end it, and so does a day."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await stage.begin()
    assert (await _divergence(stage))["outbox_channel"] == 0
    await stage.clock.advance(10.1)
    assert (await _divergence(stage))["outbox_channel"] == 1
    await stage.finish(begun, Accepted(external_id="w1"))
    assert (await _divergence(stage))["outbox_channel"] == 0
    await stage.clock.advance(3600.0)
    assert (await _divergence(stage))["outbox_channel"] == 1
    await stage.status("w1", "delivered")

    assert (await _divergence(stage))["outbox_channel"] == 0


async def test_a_story_is_counted_once(stage: Stage) -> None:
    """One message, one call, one turn, one reply."""
    await stage.customer("oi")
    await stage.customer("tudo bem?")
    await stage.clock.advance(7.0)
    await stage.run()
    await stage.status("sent-1", "delivered")

    assert stage.count("inbound", channel="loja", outcome="accepted") == 2
    assert stage.count("turns", verdict="sealed", reason="answered") == 1
    assert stage.count("turns") == 1
    assert stage.count("agent_calls", outcome="answered") == 1
    assert stage.count("outbound", author="ai", state="sent") == 1
    assert stage.count("outbound", author="ai", state="delivered") == 1
    assert stage.count("late_ai_send") == 0
    lag = stage.runtime.telemetry.turn_lag_seconds.collect()
    assert [s.value for f in lag for s in f.samples if s.name.endswith("_sum")] == [2.0]


async def test_each_step_tells_when_the_next_falls_due(stage: Stage) -> None:
    """A nudge is only latency, but a missing one costs it every time."""
    nudges = _Nudges()
    stage.runtime = replace(stage.runtime, wakeup=nudges)
    stage.intake = Intake(stage.runtime)
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    assert (Work.OUTBOX, 0.0) in nudges.told

    await stage.customer("mais")
    nudges.told.clear()
    await stage.triage()
    assert (Work.TURN, 5.0) in nudges.told
    await stage.clock.advance(5.0)
    (turn,) = await claim(stage.runtime, limit=1)
    nudges.told.clear()
    await abandon_drained(stage.runtime, [turn])
    assert (Work.TURN, 0.0) in nudges.told


@pytest.mark.parametrize("settings", [{"turns": {"debounce_seconds": 2.0, "max_wait_seconds": 3.0}}])
async def test_the_timer_is_the_window_with_its_cap(stage: Stage) -> None:
    """min(last + debounce, first + max_wait), whoever derives it."""
    await stage.customer("oi")
    for expected, wait in ((3.0, 1.0), (3.0, 1.5)):
        await stage.clock.advance(wait)
        await stage.customer("mais")
        due = (await stage.conversation())["turn_due_at"]
        first = (await stage.rows("inbound_message"))[0]["received_at"]
        assert (due - first).total_seconds() == expected
