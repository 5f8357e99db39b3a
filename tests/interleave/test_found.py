"""The shortest failing schedule of every fault that the explorer found in the flow, told as a story."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.flow.outbox.begin import begin_sends
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
