"""Writes that an operator must approve: the tool waits, and the approval must still be right when it comes."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from onevoice import WriteRefused, writes
from onevoice.errors import CommandRefused, EffectUnknown
from onevoice.flow.authority.decide import Command
from onevoice.flow.effect.approval import LOOK_SECONDS, approve, refuse
from onevoice.flow.effect.perform import authorise
from onevoice.flow.sweep.perform import sweep
from onevoice.ports.writes import WriteCall
from onevoice.testing import settle
from onevoice.vocabulary import AccountId, EffectId, EffectState, TurnContext, TurnState
from tests.perform.clinic import employ, write_states
from tests.perform.stage import Stage

DEFAULT = AccountId("default")


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"agent": {"timeout_seconds": 40.0}}


class Till:
    """A tool that moves money."""

    def __init__(self) -> None:
        self.refunded: list[int] = []
        self.refusals: list[str] = []

    @writes(confirm="operator")
    async def refund(self, amount: int) -> str:
        self.refunded.append(amount)
        return f"refunded {amount}"

    async def answer(self, _: TurnContext) -> str:
        try:
            return await self.refund(50)
        except WriteRefused as refused:
            self.refusals.append(refused.reason)
            return "Estornado!"


async def waiting(stage: Stage, till: Till) -> tuple[asyncio.Task[Any], EffectId]:
    """A turn whose write waits for its approval."""
    employ(stage, till.answer)
    await stage.customer("quero meu dinheiro")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering = asyncio.create_task(stage.answer(turn))
    async with asyncio.timeout(5.0):
        while stage.clock.sleeper_count == 0:
            await settle(1)
    (effect,) = await stage.rows("effect")
    return answering, EffectId(UUID(str(effect["id"])))


async def look(stage: Stage, answering: asyncio.Task[Any]) -> Any:
    """Let the tool look again, and the turn end."""
    await stage.clock.advance(LOOK_SECONDS)
    async with asyncio.timeout(5.0):
        return await answering


async def test_an_approved_write_is_done(stage: Stage) -> None:
    """Somebody is told, somebody approves, the tool runs."""
    till = Till()
    answering, effect = await waiting(stage, till)
    assert till.refunded == []
    assert [row["kind"] for row in await stage.rows("notification")] == ["effect_awaiting"]
    bia = await stage.operator("bia")
    _, version = await stage.authority()
    for _ in range(2):
        state = await approve(stage.runtime, DEFAULT, effect, operator=bia.operator, seen_version=version)
    verdict = await look(stage, answering)
    await stage.run()

    assert state is EffectState.STARTED
    assert till.refunded == [50]
    assert verdict.state is TurnState.SEALED
    assert stage.sent == ["refunded 50"]
    assert await write_states(stage) == [("refund", "done", None)]
    with pytest.raises(CommandRefused, match="done"):
        await refuse(stage.runtime, DEFAULT, effect)


async def test_a_refused_write_goes_to_a_human(stage: Stage) -> None:
    """The agent's words after a refusal are not believed."""
    till = Till()
    answering, effect = await waiting(stage, till)
    await refuse(stage.runtime, DEFAULT, effect)
    verdict = await look(stage, answering)
    await stage.run()

    assert till.refunded == []
    assert till.refusals == ["refused_by_operator"]
    assert (verdict.state, verdict.reason) == (TurnState.HANDOFF, "write_not_approved")
    assert stage.sent == []
    with pytest.raises(CommandRefused, match="refused"):
        await approve(stage.runtime, DEFAULT, effect, operator=None)


async def test_nobody_waits_for_ever(stage: Stage) -> None:
    """Without an answer the write is refused before the agent's own time is up."""
    till = Till()
    answering, _ = await waiting(stage, till)
    for _ in range(140):
        await stage.clock.advance(LOOK_SECONDS)
        async with asyncio.timeout(5.0):
            while not answering.done() and stage.clock.sleeper_count == 0:
                await settle(1)
    verdict = await answering

    assert till.refusals == ["approval_timeout"]
    assert verdict.reason == "write_not_approved"


async def test_an_approval_after_a_newer_message_is_refused(stage: Stage) -> None:
    """The customer may have changed their mind: the operator is told so, and nothing is done."""
    till = Till()
    answering, effect = await waiting(stage, till)
    await stage.customer("não, deixa")
    with pytest.raises(CommandRefused, match="written again"):
        await approve(stage.runtime, DEFAULT, effect, operator=None)
    verdict = await look(stage, answering)

    assert till.refunded == []
    assert (verdict.state, verdict.reason) == (TurnState.DISCARDED, "newer_message")


async def test_an_approval_of_another_version_is_refused(stage: Stage) -> None:
    """What the screen showed is over."""
    till = Till()
    answering, effect = await waiting(stage, till)
    with pytest.raises(CommandRefused) as raised:
        await approve(stage.runtime, DEFAULT, effect, operator=None, seen_version=7)
    await look(stage, answering)

    assert raised.value.code == "authority_revoked"
    assert till.refunded == []


async def test_a_takeover_ends_the_wait(stage: Stage) -> None:
    """What waits is not in flight: the take is confirmed at once, and no approval brings the write back."""
    till = Till()
    answering, effect = await waiting(stage, till)
    view = await stage.command(Command.TAKE, await stage.operator("bia"))
    with pytest.raises(CommandRefused) as raised:
        await approve(stage.runtime, DEFAULT, effect, operator=None)
    verdict = await look(stage, answering)

    assert view.state == "HUMAN_ACTIVE"
    assert raised.value.code == "authority_revoked"
    assert till.refunded == []
    assert verdict.reason == "authority_revoked"


async def test_a_turn_that_is_cut_takes_its_question_back(stage: Stage) -> None:
    """Nobody waits for the answer any more."""
    till = Till()
    answering, effect = await waiting(stage, till)
    answering.cancel()
    await asyncio.wait([answering])

    assert await write_states(stage) == [("refund", "refused", "turn_over")]
    with pytest.raises(CommandRefused):
        await approve(stage.runtime, DEFAULT, effect, operator=None)


async def test_a_question_of_a_dead_process_is_asked_anew(stage: Stage) -> None:
    """The next turn's equal call closes the old question, and only the new one can be approved."""
    call = WriteCall(tool="refund", args={"amount": 50}, needs_approval=True)
    effects: list[EffectId] = []
    for seconds in (5.0, 36.0):
        await stage.customer("quero meu dinheiro")
        await stage.clock.advance(seconds)
        await sweep(stage.runtime)
        (turn,) = await stage.claim()
        asked = await authorise(stage.runtime, turn.id, call, account=DEFAULT)
        assert asked.state is EffectState.AWAITING
        assert asked.effect is not None
        effects.append(asked.effect)

    assert await write_states(stage) == [("refund", "refused", "turn_over"), ("refund", "awaiting", None)]
    assert await approve(stage.runtime, DEFAULT, effects[1], operator=None) is EffectState.STARTED


async def test_another_account_finds_nothing(stage: Stage) -> None:
    """Neither to approve nor to refuse."""
    till = Till()
    answering, effect = await waiting(stage, till)
    with pytest.raises(EffectUnknown):
        await approve(stage.runtime, AccountId("other"), effect, operator=None)
    with pytest.raises(EffectUnknown):
        await refuse(stage.runtime, AccountId("other"), effect)
    await refuse(stage.runtime, DEFAULT, effect)
    await look(stage, answering)
