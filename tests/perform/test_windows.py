"""The channel's reply window: closed before sealing, between seal and send, and open again when the customer writes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.ports.channel import ContactRef, ItemKind, MessageItem, Refused
from onevoice.vocabulary import ErrorAction, OutgoingMessage, Proposal, TriageDecision
from tests.decide.facts import error
from tests.perform.stage import AUTOMATION, Stage

HOURS = timedelta(hours=1).total_seconds()
THREE = Proposal(messages=tuple(OutgoingMessage(text=text) for text in ("um", "dois", "três")))


async def _writes(stage: Stage, number: int, text: str) -> None:
    """A message that opens the window for 24 hours."""
    ana = ContactRef(address="ana", key="ana", aliases=("ana",))
    item = MessageItem(
        external_id=f"w{number}",
        contact=ana,
        kind=ItemKind.ARRIVAL,
        type="text",
        text=text,
        raw=b"{}",
        opens_window_until=stage.clock.now() + timedelta(hours=24),
    )
    await stage.intake.take(stage.channel, [item])


async def _parked(stage: Stage) -> None:
    """A reply of an agent that took a day, and is parked for want of an open window."""
    await _writes(stage, 1, "oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.owner.execute("update turn set lease_until = lease_until + interval '2 days'")
    await stage.clock.advance(24 * HOURS)
    stage.agent.script("resposta antiga")
    verdict = await stage.answer(turn)
    assert (verdict.state, verdict.reason) == ("parked", "needs_template")


async def test_a_reply_after_the_window_is_parked(stage: Stage) -> None:
    """It is kept for an operator and for the customer's next message; nothing is sent."""
    await _parked(stage)
    await stage.after(60.0)

    assert await stage.states("outbound_message") == ["parked: needs_template"]
    assert await stage.states("inbound_message") == ["answered: parked"]
    assert stage.channel.deliveries == []


@pytest.mark.parametrize(
    ("decision", "sent"),
    [
        (TriageDecision.RELEASE_FIRST, ["resposta antiga", "Certo!"]),
        (TriageDecision.CANCEL_FIRST, ["Certo!"]),
        (TriageDecision.MERGE, ["resposta antiga", "Certo!"]),
    ],
)
async def test_when_the_customer_writes_again_triage_decides(
    stage: Stage, decision: TriageDecision, sent: list[str]
) -> None:
    """Released under the current version, dropped, or too late to merge: the first message waited a day (I6)."""
    await _parked(stage)
    key = (await stage.rows("outbound_message"))[0]["key"]
    stage.decider.script(decision)
    await _writes(stage, 2, "ainda está aí?")
    await stage.after(5.0)

    assert stage.sent == sent
    assert len(stage.decider.requests) == 1
    if sent[0] == "resposta antiga":
        assert stage.channel.deliveries[0].key == key


async def test_a_decider_that_fails_over_a_parked_reply_keeps_nobody_waiting(stage: Stage) -> None:
    """No ladder climbs for a parked reply: it stays parked for an operator, and the new message is answered."""
    await _parked(stage)
    stage.decider.script(RuntimeError("no idea"))
    await _writes(stage, 2, "ainda está aí?")
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]
    assert await stage.states("outbound_message") == ["parked: triage_undecided", "sent"]
    await _writes(stage, 3, "obrigada")
    await stage.after(5.0)
    assert len(stage.decider.requests) == 1


async def test_the_window_closes_between_seal_and_send(stage: Stage) -> None:
    """What is held when it closes is parked whole, and goes out whole."""
    await _writes(stage, 1, "oi")
    stage.agent.script(THREE)
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await stage.clock.advance(24 * HOURS)
    assert await stage.send() == 0
    assert await stage.states("outbound_message") == ["parked: needs_template"] * 3
    await _writes(stage, 2, "oi?")
    await stage.play(9.0, step=0.5)

    assert stage.sent == ["um", "dois", "três", "Certo!"]


async def test_a_refusal_in_the_middle_parks_the_rest_for_the_same_template(stage: Stage) -> None:
    """The channel closes the window after the first part; all that is missing follows when it opens."""
    await _writes(stage, 1, "oi")
    stage.agent.script(THREE)
    stage.channel.script(None)
    stage.channel.script(Refused(error=error(ErrorAction.NEEDS_TEMPLATE)))
    await stage.after(5.0)
    await stage.play(6.0, step=0.5)
    assert await stage.states("outbound_message") == ["sent", *["parked: needs_template"] * 2]
    await _writes(stage, 2, "oi?")
    await stage.play(9.0, step=0.5)

    assert stage.sent == ["um", "dois", "três", "Certo!"]
    assert stage.decider.requests == []


async def test_a_refused_reply_has_not_begun(stage: Stage) -> None:
    """The customer saw nothing of it, so that triage may still drop it."""
    await _writes(stage, 1, "oi")
    stage.channel.script(Refused(error=error(ErrorAction.NEEDS_TEMPLATE)))
    await stage.after(5.0)
    stage.decider.script(TriageDecision.CANCEL_FIRST)
    await _writes(stage, 2, "deixa")
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]
    assert (await stage.states("outbound_message"))[0] == "cancelled: cancelled"


async def test_a_reply_of_an_earlier_authority_never_comes_back(stage: Stage) -> None:
    """Parked, taken, released: the old epoch's reply is an operator's to release, not triage's (I1)."""
    await _parked(stage)
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    await stage.command(Command.RELEASE, AUTOMATION)
    await _writes(stage, 2, "ainda está aí?")
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]
    assert stage.decider.requests == []
    assert await stage.states("outbound_message") == ["parked: needs_template", "sent"]
