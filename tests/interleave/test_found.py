"""The shortest failing schedule of every fault that the explorer found in the flow, told as a story."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from onevoice.errors import CommandRefused
from onevoice.flow.authority.decide import Command
from onevoice.flow.operator.perform import discard_outbound, release_outbound
from onevoice.flow.outbox.begin import Begun, begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.ports.channel import Accepted
from onevoice.store.database import Database
from onevoice.vocabulary import AccountId, HandoffRequest, OutboundId, OutgoingMessage, Proposal
from tests.interleave.ports import TEMPLATE
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection

GOODBYE = Proposal(
    messages=(OutgoingMessage(text="Um colega já vem."),), handoff=HandoffRequest(reason="customer_request")
)


@pytest.fixture
async def stage(database: Database, owner: Connection) -> Stage:
    return Stage(database, owner, {})


async def test_an_operators_words_do_not_wait_for_a_takeover_that_nobody_asked_for(stage: Stage) -> None:
    """Kept over a release behind a lost send, they leave although the AI hands over meanwhile (I2)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await begin_sends(stage.runtime, limit=10)
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.reply(bia, "Oi, sou a Bia")
    await stage.command(Command.RELEASE, bia)
    stage.agent.script(GOODBYE)
    await stage.customer("e agora?")
    await stage.after(10.0)
    await stage.after(20.0)
    assert stage.sent == ["Oi, sou a Bia"]
    await stage.after(120.0)

    assert (await stage.authority())[0] == "HANDOFF_PENDING"
    assert stage.sent == ["Oi, sou a Bia", "Um colega já vem."]


async def test_a_failure_that_comes_before_its_acceptance_stays_a_failure(stage: Stage) -> None:
    """The channel took it and told at once that it failed; the slower answer of the call says nothing newer (I2)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await begin_sends(stage.runtime, limit=10)
    await stage.webhook(_status(begun, "failed"))
    await finish_sends(stage.runtime, [Finished(begun=begun, outcome=Accepted(external_id="x1"))])

    assert await stage.states("outbound_message") == ["failed: channel_failed"]


async def test_a_failed_status_is_the_outcome_of_an_attempt_whose_sender_is_gone(stage: Stage) -> None:
    """Every attempt ends with an outcome, also one that nobody came back for (I3)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await begin_sends(stage.runtime, limit=10)
    await stage.webhook(_status(begun, "failed"))
    await stage.after(600.0)

    assert [row["outcome"] for row in await stage.rows("attempt")] == ["refused"]


async def test_a_parked_reply_is_not_released_over_a_human(stage: Stage) -> None:
    """Taken just before somebody lets the AI's parked reply go: it stays parked (I1)."""
    bia, caio = await stage.operator("bia"), await stage.operator("caio", role="admin")
    outbound = await _parked(stage)
    await stage.command(Command.TAKE, bia)
    with pytest.raises(CommandRefused):
        await release_outbound(stage.runtime, AccountId("default"), outbound, actor=caio)
    await stage.after(60.0)

    assert stage.sent == []
    assert await stage.states("outbound_message") == ["parked: needs_template"]


async def test_a_discarded_reply_has_answered_nothing(stage: Stage) -> None:
    """An operator throws the parked reply away: its message ends with that reason, not as answered (I2)."""
    caio = await stage.operator("caio", role="admin")
    outbound = await _parked(stage)
    await discard_outbound(stage.runtime, AccountId("default"), outbound, actor=caio)
    await stage.after(60.0)

    assert await stage.states("inbound_message") == ["cancelled: discarded_by_operator"]
    assert await stage.states("outbound_message") == ["cancelled: discarded_by_operator"]


async def _parked(stage: Stage) -> OutboundId:
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await begin_sends(stage.runtime, limit=10)
    await finish_sends(stage.runtime, [Finished(begun=begun, outcome=TEMPLATE)])
    return begun.message.id


def _status(begun: Begun, status: str) -> dict[str, object]:
    return {"id": "x1", "status": status, "correlation_id": begun.delivery.correlation_id}
