"""Edits and revokes: before the claim, during the turn, before and after the reply began, before their target."""

from __future__ import annotations

from typing import Any

import pytest

from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.proposal.perform import ask
from onevoice.flow.turn.decide import Turn
from onevoice.vocabulary import OutgoingMessage, Proposal
from tests.perform.stage import Stage


async def _amend(stage: Stage, kind: str, target: str, text: str | None = None) -> None:
    await stage.customer(text or "", kind=kind, target=target, id=f"{kind}-{target}-{text}")


async def _claimed(stage: Stage, *texts: str) -> Turn:
    for text in texts:
        await stage.customer(text)
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.clock.advance(1.0)
    return turn


async def _read(stage: Stage) -> list[list[str | None]]:
    """What each agent call was given."""
    return [[message.text for message in context.messages] for context in stage.agent.contexts]


async def _kinds(stage: Stage) -> list[str]:
    """The states of real messages, without the records of their amendments."""
    return [state for state in await stage.states("inbound_message") if not state.startswith("recorded")]


async def test_an_edit_before_the_claim_is_what_the_agent_reads(stage: Stage) -> None:
    """It also counts as an arrival, so that the window starts again."""
    await stage.customer("sexta")
    await stage.clock.advance(4.0)
    await _amend(stage, "edit", "m1", "sábado")
    await stage.after(4.0)
    assert stage.agent.contexts == []
    await stage.after(1.0)

    assert await _read(stage) == [["sábado"]]


async def test_a_revoke_before_the_claim_leaves_nothing_to_answer(stage: Stage) -> None:
    """Withdrawn with its reason; the operator keeps the text."""
    await stage.customer("errei")
    await _amend(stage, "revoke", "m1")
    await stage.after(30.0)

    assert stage.agent.contexts == []
    assert await _kinds(stage) == ["withdrawn: revoked_by_customer"]
    assert (await stage.rows("inbound_message"))[0]["text"] == "errei"


async def test_a_revoke_of_one_of_two_leaves_the_other(stage: Stage) -> None:
    """Only what was withdrawn is gone."""
    await stage.customer("oi")
    await stage.customer("errei")
    await _amend(stage, "revoke", "m2")
    await stage.after(5.0)

    assert await _read(stage) == [["oi"]]
    assert await _kinds(stage) == ["answered: sealed", "withdrawn: revoked_by_customer"]


async def test_an_edit_during_the_turn_overtakes_its_reply(stage: Stage) -> None:
    """The reply was computed on the old text."""
    turn = await _claimed(stage, "sexta")
    await _amend(stage, "edit", "m1", "sábado")
    assert (await stage.answer(turn)).reason == "newer_message"
    await stage.after(5.0)

    assert (await _read(stage))[-1] == ["sábado"]
    assert stage.sent == ["Certo!"]


async def test_a_revoke_during_the_turn_ends_it_without_a_reply(stage: Stage) -> None:
    """Nothing is left to answer."""
    turn = await _claimed(stage, "errei")
    await _amend(stage, "revoke", "m1")
    await stage.answer(turn)
    await stage.after(30.0)

    assert stage.sent == []
    assert await _kinds(stage) == ["withdrawn: revoked_by_customer"]


async def test_an_agent_whose_messages_were_all_withdrawn_is_not_called(stage: Stage) -> None:
    """Withdrawn between the claim and the call."""
    turn = await _claimed(stage, "errei")
    await _amend(stage, "revoke", "m1")
    await stage.answer(turn)

    assert stage.agent.contexts == []


@pytest.mark.parametrize("settings", [{"turns": {"while_running": "enqueue"}}])
async def test_where_the_reply_goes_out_the_edited_message_is_answered_again(stage: Stage) -> None:
    """It was answered as it stood before; the new text is open."""

    def answer(context: Any) -> Proposal:
        return Proposal(messages=(OutgoingMessage(text=f"sobre {context.messages[0].text}"),))

    stage.agent.script(answer)
    stage.agent.script(answer)
    turn = await _claimed(stage, "sexta")
    settlement = prepare(stage.runtime, turn, await ask(stage.runtime, turn))
    await _amend(stage, "edit", "m1", "sábado")
    await settle(stage.runtime, [settlement])
    await stage.run()
    await stage.after(5.0)

    assert stage.sent == ["sobre sexta", "sobre sábado"]


@pytest.mark.parametrize("settings", [{"outbox": {"hold_seconds": 3.0}}])
@pytest.mark.parametrize(
    ("kind", "text", "sent", "state"),
    [
        ("edit", "sábado", ["Certo!"], "answered: sealed"),
        ("revoke", None, [], "withdrawn: revoked_by_customer"),
    ],
)
async def test_after_sealing_before_sending_the_reply_goes_too(
    stage: Stage, kind: str, text: str | None, sent: list[str], state: str
) -> None:
    """The waiting reply is superseded, and the message changed or withdrawn."""
    turn = await _claimed(stage, "sexta")
    await stage.answer(turn)
    await _amend(stage, kind, "m1", text)
    assert (await stage.states("outbound_message"))[0] == "superseded: amended"
    await stage.play(10.0, step=0.5)

    assert stage.sent == sent
    assert await _kinds(stage) == [state]
    assert stage.decider.requests == []


@pytest.mark.parametrize("settings", [{"outbox": {"hold_seconds": 3.0}}])
async def test_a_reply_that_tells_of_a_write_is_not_taken_back(stage: Stage) -> None:
    """What it tells has happened; the edit is history."""
    stage.agent.script(Proposal(messages=(OutgoingMessage(text="Marquei."),), wrote=True))
    turn = await _claimed(stage, "sexta")
    await stage.answer(turn)
    await _amend(stage, "edit", "m1", "sábado")
    await stage.play(5.0, step=0.5)

    assert stage.sent == ["Marquei."]
    assert (await stage.rows("inbound_message"))[0]["text"] == "sexta"


@pytest.mark.parametrize("kind", ["edit", "revoke"])
async def test_after_sending_it_is_history(stage: Stage, kind: str) -> None:
    """The answer has begun: nothing changes, nothing is answered again."""
    await stage.customer("sexta")
    await stage.after(5.0)
    await _amend(stage, kind, "m1", "sábado")
    await stage.after(30.0)

    assert stage.sent == ["Certo!"]
    assert await _kinds(stage) == ["answered: sealed"]
    assert ("history", kind) in await stage.entries("inbound")


@pytest.mark.parametrize(("kind", "read"), [("edit", [["sábado"]]), ("revoke", [])])
async def test_an_amendment_waits_for_its_target(stage: Stage, kind: str, read: list[list[str]]) -> None:
    """Webhooks come in any order."""
    await _amend(stage, kind, "m2", "sábado")
    assert (await stage.rows("inbound_message"))[0]["target_pending"]
    await stage.customer("sexta", id="m2")
    await stage.after(5.0)

    assert await _read(stage) == read
    assert not (await stage.rows("inbound_message"))[0]["target_pending"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_both_in_one_webhook(stage: Stage, order: tuple[int, int]) -> None:
    """The message and its edit together, whichever stands first."""
    items = [
        {"id": "m1", "from": "ana", "text": "sexta"},
        {"id": "e1", "from": "ana", "text": "sábado", "kind": "edit", "target": "m1"},
    ]
    await stage.webhook(*(items[position] for position in order))
    await stage.after(5.0)

    assert await _read(stage) == [["sábado"]]


async def test_the_sweep_applies_what_a_crash_left(stage: Stage) -> None:
    """The edit was stored and its process died before it was applied."""
    await stage.customer("sexta")
    await _amend(stage, "edit", "m1", "sábado")
    await stage.owner.execute(
        "update inbound_message set text = 'sexta', amended_at = null where external_id = 'm1'"
    )
    await stage.owner.execute(
        "update inbound_message set target_pending = true where target_external_id = 'm1'"
    )
    await stage.after(5.0)
    await stage.after(5.0)

    assert await _read(stage) == [["sábado"]]


async def test_of_several_amendments_each_meets_what_the_earlier_ones_made(stage: Stage) -> None:
    """Revoked, then edited: a withdrawn message does not come back."""
    await _amend(stage, "revoke", "m9")
    await _amend(stage, "edit", "m9", "sábado")
    await stage.customer("sexta", id="m9")
    await stage.after(10.0)

    assert stage.agent.contexts == []
    assert await _kinds(stage) == ["withdrawn: revoked_by_customer"]
    told = [entry for entry in await stage.entries("inbound") if entry[0] in ("amended", "history")]
    assert told == [("amended", "revoke"), ("history", "edit")]


@pytest.mark.parametrize("type_", ["reaction", "system"])
async def test_reactions_and_system_events_start_nothing_and_overtake_nothing(
    stage: Stage, type_: str
) -> None:
    """They are kept; neither a timer nor an arrival comes of them."""
    await stage.customer("👍", kind="record", type=type_, id="r0")
    await stage.after(30.0)
    assert stage.agent.contexts == []
    assert (await stage.conversation())["arrival_count"] == 0

    turn = await _claimed(stage, "oi")
    await stage.customer("👍", kind="record", type=type_, id="r1")
    await stage.answer(turn)
    await stage.customer("👍", kind="record", type=type_, id="r2")
    await stage.run()

    assert stage.sent == ["Certo!"]
    assert (await stage.conversation())["arrival_count"] == 1
    assert stage.decider.requests == []
