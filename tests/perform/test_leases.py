"""A worker is lost, slow or stopped: leases, take-overs and drains (I4, I7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onevoice.flow.sweep.perform import sweep
from onevoice.flow.turn.perform import abandon_drained, renew
from onevoice.vocabulary import TurnId, TurnState
from tests.perform.stage import Stage


async def test_a_lost_worker_is_taken_over_after_its_lease(stage: Stage) -> None:
    """The messages are free again, with their original times, and another turn answers them."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    await stage.claim()
    await stage.after(30.0)
    assert await stage.states("turn") == ["running"]
    await stage.after(0.1)

    assert await stage.states("turn") == ["abandoned: lease_lost", "sealed: answered"]
    assert stage.sent == ["Certo!"]
    assert stage.agent.contexts[0].attempt == 2
    assert stage.count("turns", verdict="abandoned", reason="lease_lost") == 1
    assert (await stage.conversation())["lost_turn_count"] == 0


async def test_after_so_many_lost_workers_a_human_is_asked(stage: Stage) -> None:
    """The burst itself may be what kills them; the end of a lost turn is told once."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    for _ in range(3):
        assert len(await stage.claim()) == 1
        await stage.clock.advance(30.1)
        await sweep(stage.runtime)
    await stage.play(60.0, step=10.0)

    assert await stage.states("turn") == ["abandoned: lease_lost"] * 3
    assert await stage.entries("authority") == [("HANDOFF_PENDING", "integration_failure")]
    ends = [entry for entry in await stage.entries("turn") if entry[0] != "running"]
    assert ends == [("abandoned", "lease_lost")] * 3
    assert stage.count("work_invalidated", reason="authority_revoked") == 0
    assert await stage.states("inbound_message") == ["open"]
    assert stage.sent == []


async def test_a_renewed_lease_is_not_taken(stage: Stage) -> None:
    """A slow agent is no dead worker."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    for _ in range(10):
        await stage.clock.advance(10.0)
        assert await renew(stage.runtime, [turn]) == {turn.id}
        await stage.after(0.0)
    await stage.answer(turn)
    await stage.run()

    assert await stage.states("turn") == ["sealed: answered"]
    assert stage.sent == ["Certo!"]


async def test_a_worker_learns_which_of_its_turns_have_ended(stage: Stage) -> None:
    """Those not renewed are stopped; a turn nobody knows is not among them."""
    await stage.customer("oi", **{"from": "ana"})
    await stage.customer("oi", **{"from": "bia"})
    await stage.clock.advance(5.0)
    first, second = await stage.claim()
    await abandon_drained(stage.runtime, [first])

    assert await renew(stage.runtime, [first, second]) == {second.id}
    assert await renew(stage.runtime, []) == set()
    await stage.answer(second)


async def test_a_late_settle_changes_nothing_and_learns_the_recorded_end(stage: Stage) -> None:
    """The turn id is the fence: whoever comes back after the take-over only reads what became of it."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (late,) = await stage.claim()
    await stage.after(30.1)
    before = (
        await stage.rows("inbound_message"),
        await stage.rows("outbound_message"),
        await stage.rows("turn"),
    )

    verdict = await stage.answer(late)

    assert (verdict.state, verdict.reason, verdict.is_late) == (TurnState.ABANDONED, "lease_lost", True)
    after = (
        await stage.rows("inbound_message"),
        await stage.rows("outbound_message"),
        await stage.rows("turn"),
    )
    assert after == before
    assert stage.count("stale_blocked", at="gate") == 1
    assert stage.sent == ["Certo!"]


async def test_settling_twice_is_settling_once(stage: Stage) -> None:
    """A worker that repeats itself because the commit's answer was lost gets the same verdict."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    first = await stage.answer(turn)
    again = await stage.answer(turn)
    await stage.run()

    assert (again.state, again.reason, again.is_late) == (first.state, first.reason, True)
    assert stage.sent == ["Certo!"]
    assert stage.count("turns", verdict="sealed") == 1
    assert stage.count("stale_blocked", at="gate") == 0


async def test_a_drain_counts_no_attempt(stage: Stage) -> None:
    """A process that stops gives its turns back at once, and nobody holds it against them."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    for _ in range(5):
        turns = await stage.claim()
        assert turns[0].attempt == 1
        await abandon_drained(stage.runtime, turns)
    await stage.run()

    assert await stage.states("turn") == ["abandoned: drain"] * 5 + ["sealed: answered"]
    assert stage.sent == ["Certo!"]


async def test_draining_an_ended_or_unknown_turn_does_nothing(stage: Stage) -> None:
    """Only what still runs is given back."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    unknown = replace(turn, id=TurnId(stage.runtime.chance.new_id()))
    await abandon_drained(stage.runtime, [turn, unknown])
    await abandon_drained(stage.runtime, [])

    assert await stage.states("turn") == ["sealed: answered"]


@pytest.mark.parametrize("settings", [{"turns": {"max_attempts": 1}}])
async def test_one_attempt_means_one(stage: Stage) -> None:
    """``max_attempts = 1`` asks a human after the first lost worker."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    await stage.claim()
    await stage.after(31.0)

    assert await stage.entries("authority") == [("HANDOFF_PENDING", "integration_failure")]
