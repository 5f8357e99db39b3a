"""The shortest failing schedule of every fault that the explorer found in the flow, told as a story."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.flow.outbox.begin import Begun, begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.ports.channel import Accepted
from onevoice.store.database import Database
from onevoice.vocabulary import HandoffRequest, OutgoingMessage, Proposal
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


def _status(begun: Begun, status: str) -> dict[str, object]:
    return {"id": "x1", "status": status, "correlation_id": begun.delivery.correlation_id}
