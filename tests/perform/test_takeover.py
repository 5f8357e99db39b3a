"""A human takes over at every moment of a turn, and the AI's voice ends there (I1, I7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onevoice.errors import CommandRefused
from onevoice.flow.authority.command import give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.proposal.perform import ask
from onevoice.ports.channel import Accepted
from onevoice.vocabulary import HandoffRequest, OutgoingMessage, Proposal, TurnState
from tests.perform.stage import Stage


async def test_before_the_turn_starts_nothing_is_asked(stage: Stage) -> None:
    """The timer is gone with the transition; the message stays open for the human."""
    await stage.customer("oi")
    bia = await stage.operator("bia")
    view = await stage.command(Command.TAKE, bia)
    await stage.after(20.0)

    assert (view.state, view.owner, view.owner_name) == ("HUMAN_ACTIVE", bia.operator, "bia")
    assert stage.agent.contexts == []
    assert await stage.states("inbound_message") == ["open"]


async def test_while_the_agent_works_its_reply_is_obsolete(stage: Stage) -> None:
    """The turn ends with the transition, and its late proposal gets the recorded reason."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.command(Command.TAKE, await stage.operator("bia"))
    verdict = await stage.answer(turn)
    await stage.after(20.0)

    assert (verdict.state, verdict.reason) == (TurnState.OBSOLETE, "authority_revoked")
    assert await stage.states("turn") == ["obsolete: authority_revoked"]
    assert stage.sent == []


async def test_a_sealed_reply_is_revoked_and_its_messages_are_open(stage: Stage) -> None:
    """Sealed is not sent: the operator sees what the AI would have said, and the question is theirs."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.after(20.0)

    assert await stage.states("outbound_message") == ["revoked: authority_revoked"]
    assert await stage.states("inbound_message") == ["open"]
    assert stage.sent == []


async def test_during_the_channel_call_the_takeover_waits_for_its_outcome(stage: Stage) -> None:
    """HANDOFF_PENDING names the owner; who records the outcome confirms it."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await begin_sends(stage.runtime, limit=10)
    bia = await stage.operator("bia")
    pending = await stage.command(Command.TAKE, bia)
    sealed = await stage.reply(bia, "Oi, sou a Bia")
    assert await stage.send() == 0
    await finish_sends(stage.runtime, [Finished(begun=begun, outcome=Accepted(external_id="x1"))])
    state, version = await stage.authority()
    await stage.run()

    assert (pending.state, pending.owner, pending.unresolved_count) == ("HANDOFF_PENDING", bia.operator, 1)
    assert (state, version) == ("HUMAN_ACTIVE", 3)
    assert sealed.is_new
    assert stage.sent == ["Oi, sou a Bia"]
    assert await stage.states("outbound_message") == ["sent", "sent"]


async def test_a_lost_sender_keeps_the_takeover_pending_until_the_quarantine_is_over(stage: Stage) -> None:
    """Missing evidence alone never frees a send; deadline plus quarantine does."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await begin_sends(stage.runtime, limit=10)
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.after(19.0)
    before = (await stage.authority())[0]
    await stage.after(2.0)

    assert before == "HANDOFF_PENDING"
    assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    assert await stage.states("outbound_message") == ["uncertain: sender_lost"]


async def test_forcing_ones_own_pending_takeover_confirms_it(stage: Stage) -> None:
    """The owner may force it earlier, with the unresolved message shown."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await begin_sends(stage.runtime, limit=10)
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    view = await stage.command(Command.TAKE_FORCED, bia)

    assert (view.state, view.unresolved_count) == ("HUMAN_ACTIVE", 1)


async def test_fifty_operators_take_at_once_and_one_gets_it(stage: Stage) -> None:
    """One owner; everybody else learns who it is."""
    await stage.customer("oi")
    actors = [await stage.operator(f"op{number}") for number in range(50)]
    key = await stage.key()
    results = await asyncio.gather(
        *(give_command(stage.runtime, key, Command.TAKE, actor=actor) for actor in actors),
        return_exceptions=True,
    )
    won = [result for result in results if not isinstance(result, BaseException)]
    lost = [result for result in results if isinstance(result, CommandRefused)]

    assert (len(won), len(lost)) == (1, 49)
    assert {refusal.code for refusal in lost} == {"held_by_other"}
    assert {refusal.owner for refusal in lost} == {won[0].owner}


async def test_after_release_only_what_is_open_becomes_a_turn(stage: Stage) -> None:
    """What the human answered is not answered again; what came after their screen is."""
    await stage.customer("primeira")
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.customer("segunda")
    await stage.reply(bia, "Respondi a primeira", seen="m1")
    await stage.run()
    view = await stage.command(Command.RELEASE, bia)
    await stage.after(5.0)

    assert view.state == "AI_ACTIVE"
    assert [message.text for message in stage.agent.contexts[0].messages] == ["segunda"]
    assert [(item.role, item.text) for item in stage.agent.contexts[0].history] == [
        ("customer", "primeira"),
        ("system", "[a human operator answers from here on]"),
        ("operator", "Respondi a primeira"),
        ("system", "[the conversation is with the assistant again]"),
    ]


async def test_an_old_turn_does_not_come_back_to_life_after_the_return(stage: Stage) -> None:
    """Taken and released while a turn runs: the version has moved on, its reply is not sent."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (old,) = await stage.claim()
    answered = await ask(stage.runtime, old)
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.command(Command.RELEASE, bia)
    verdict = (await settle(stage.runtime, [prepare(stage.runtime, old, answered)]))[0]
    stage.agent.script("A nova resposta")
    await stage.after(5.0)

    assert (verdict.state, verdict.reason) == (TurnState.OBSOLETE, "authority_revoked")
    assert stage.sent == ["A nova resposta"]


async def test_the_same_key_is_the_same_message(stage: Stage) -> None:
    """Keys are per conversation; another text under the same key is refused."""
    await stage.customer("oi")
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    first = await stage.reply(bia, "Oi!", idempotency_key="k")
    again = await stage.reply(bia, "Oi!", idempotency_key="k")
    with pytest.raises(CommandRefused) as refused:
        await stage.reply(bia, "Outro texto", idempotency_key="k")

    assert (first.is_new, again.is_new) == (True, False)
    assert first.outbound_ids == again.outbound_ids
    assert refused.value.code == "key_reused"


async def test_only_the_owner_writes(stage: Stage) -> None:
    """The server refuses whoever does not hold the conversation and names who does."""
    await stage.customer("oi")
    bia, caio = await stage.operator("bia"), await stage.operator("caio")
    await stage.command(Command.TAKE, bia)
    with pytest.raises(CommandRefused) as refused:
        await stage.reply(caio, "Oi")

    assert (refused.value.code, refused.value.owner) == ("not_owner", bia.operator)


async def test_a_forced_take_revokes_what_the_other_had_not_sent(stage: Stage) -> None:
    """The other operator's queued words do not leave under the new owner, and answer nothing."""
    await stage.customer("oi")
    bia, caio = await stage.operator("bia"), await stage.operator("caio", role="admin")
    await stage.command(Command.TAKE, bia)
    await stage.reply(bia, "ainda na fila")
    view = await stage.command(Command.TAKE_FORCED, caio)
    await stage.run()

    assert view.owner == caio.operator
    assert stage.sent == []
    assert await stage.states("inbound_message") == ["open"]


async def test_the_agents_goodbye_leaves_with_the_handoff(stage: Stage) -> None:
    """Sealed with the transition under the new version; the customer's message stays open for the human."""
    stage.agent.script(
        Proposal(
            messages=(OutgoingMessage(text="Vou te passar para um colega."),),
            handoff=HandoffRequest(reason="customer_request", note="quer falar do contrato"),
        )
    )
    await stage.customer("quero falar com alguém")
    await stage.after(5.0)
    conversation = await stage.conversation()

    assert stage.sent == ["Vou te passar para um colega."]
    assert conversation["authority_state"] == "HANDOFF_PENDING"
    assert (conversation["authority_reason"], conversation["authority_note"]) == (
        "customer_request",
        "quer falar do contrato",
    )
    assert await stage.states("inbound_message") == ["open"]
    assert [row["kind"] for row in await stage.rows("notification")] == ["handoff"]


class TestDevice:
    """The business answers from its own phone."""

    @staticmethod
    def echo(external_id: str, text: str = "Oi, aqui é o Caio") -> dict[str, Any]:
        return {"id": external_id, "from": "ana", "text": text, "echo": True}

    async def test_an_unknown_echo_takes_over_and_cancels_the_queue(self, stage: Stage) -> None:
        """A sealed AI reply does not leave after a human spoke from the phone."""
        await stage.customer("oi")
        await stage.clock.advance(5.0)
        (turn,) = await stage.claim()
        await stage.answer(turn)
        await stage.webhook(self.echo("e1"))
        await stage.after(5.0)
        conversation = await stage.conversation()

        assert (conversation["authority_state"], conversation["authority_reason"]) == (
            "HUMAN_ACTIVE",
            "device_reply",
        )
        assert stage.sent == []
        assert await stage.states("outbound_message") == ["revoked: authority_revoked", "sent"]

    async def test_the_echo_of_our_own_message_is_nothing(self, stage: Stage) -> None:
        """Recognised by its id."""
        await stage.customer("oi")
        await stage.after(5.0)
        await stage.webhook(self.echo("sent-1", "Certo!"))

        assert (await stage.authority())[0] == "AI_ACTIVE"

    async def test_an_echo_that_beats_our_own_answer_waits_for_its_id(self, stage: Stage) -> None:
        """While an attempt is on the wire the unknown id may still be ours."""
        await stage.customer("oi")
        await stage.clock.advance(5.0)
        (turn,) = await stage.claim()
        await stage.answer(turn)
        (begun,) = await begin_sends(stage.runtime, limit=10)
        await stage.webhook(self.echo("x1", "Certo!"))
        during = await stage.authority()
        await finish_sends(stage.runtime, [Finished(begun=begun, outcome=Accepted(external_id="x1"))])
        await stage.after(5.0)

        assert during == ("AI_ACTIVE", 1)
        assert await stage.authority() == ("AI_ACTIVE", 1)
