"""Read after the lock, in a statement of its own: a step that had to wait decides over what it waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.proposal.perform import ask
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.perform import claim, renew
from onevoice.ports.channel import NotSent
from onevoice.vocabulary import TriageDecision, TurnState
from tests.perform.stage import Stage

Result = TypeVar("Result")

ARRIVES = "update conversation set arrival_count = arrival_count + 1"


async def _meanwhile(stage: Stage, sql: str, step: Coroutine[Any, Any, Result]) -> Result:
    """Run the step against a transaction that holds the conversation, and commits once the step waits for it."""
    async with stage.owner.transaction():
        await stage.owner.execute(sql)
        task = asyncio.create_task(step)
        async with asyncio.timeout(5.0):
            while not await stage.owner.fetchval("select count(*) from pg_locks where not granted"):
                assert not task.done(), "the step did not wait for the conversation's lock"
    return await task


async def test_a_settling_turn_sees_the_message_it_waited_for(stage: Stage) -> None:
    """The reply is not sealed over an arrival that was committed while it waited."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    settlement = prepare(stage.runtime, turn, await ask(stage.runtime, turn))

    (verdict,) = await _meanwhile(stage, ARRIVES, settle(stage.runtime, [settlement]))

    assert (verdict.state, verdict.reason) == (TurnState.DISCARDED, "newer_message")


async def test_a_decision_sees_the_message_it_waited_for(stage: Stage) -> None:
    """It names the arrivals it read; the newer one voids it."""
    await stage.customer("A")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await stage.customer("B")
    (asked,) = await claim_triage(stage.runtime, limit=1)
    stage.decider.script(TriageDecision.CANCEL_FIRST)

    assert await _meanwhile(stage, ARRIVES, conclude(stage.runtime, asked)) is None
    assert await stage.states("outbound_message") == ["due"]


async def test_an_outcome_sees_the_mark_it_waited_for(stage: Stage) -> None:
    """The transition forbade any further attempt while the outcome was on its way."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await stage.begin()
    mark = (
        "update outbound_message set no_retry = true; update conversation set arrival_count = arrival_count"
    )

    await _meanwhile(stage, mark, stage.finish(begun, NotSent(reason="no_connection")))

    assert await stage.states("outbound_message") == ["revoked: authority_revoked"]


async def test_claims_pass_over_what_is_locked(stage: Stage) -> None:
    """Nobody waits for a busy conversation; it is found at the next look."""
    await stage.customer("oi", **{"from": "ana"})
    await stage.customer("oi", **{"from": "bia"})
    await stage.clock.advance(5.0)
    async with stage.owner.transaction():
        await stage.owner.execute("select from conversation where contact_address = 'ana' for update")
        turns = await claim(stage.runtime, limit=10)
        assert len(turns) == 1
        await stage.answer(turns[0])
        await stage.owner.execute("select from conversation for update")
        assert await begin_sends(stage.runtime, limit=10) == []
        assert await claim_triage(stage.runtime, limit=10) == []
    await stage.run()

    assert stage.sent == ["Certo!", "Certo!"]


async def test_a_lease_is_renewed_beside_a_turn_that_is_being_ended(stage: Stage) -> None:
    """Waiting for it while holding the others could deadlock with the transaction that ends them."""
    for customer in ("ana", "bia"):
        await stage.customer("oi", **{"from": customer})
    await stage.clock.advance(5.0)
    first, second = await stage.claim()
    await stage.clock.advance(10.0)
    async with stage.owner.transaction():
        await stage.owner.execute("select from turn where id = $1 for update", first.id)
        async with asyncio.timeout(5.0):
            alive = await renew(stage.runtime, [first, second])

    assert alive == {first.id, second.id}
    leases = {row["id"]: row["lease_until"] for row in await stage.rows("turn", "id, lease_until")}
    assert (leases[second.id] - leases[first.id]).total_seconds() == 10.0
    for turn in (first, second):
        await stage.answer(turn)
