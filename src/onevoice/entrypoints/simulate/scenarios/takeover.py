"""A human takes the conversation while the AI is at work, on the wire, or together with another human."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import httpx2

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Json, answering_each, saying
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.stopwatch import wall_seconds
from onevoice.testing import Gate
from onevoice.testing.graph_server import Hang

_QUESTION = "vocês fazem entrega hoje?"
_AI_ANSWER = "Sim, entregamos até as 20h."
_AI_SECOND = "Quer que eu anote o pedido?"
_HUMAN_ANSWER = "Oi, aqui é a Ana. Hoje a entrega vai até as 18h."


async def _during_generation(play: Play) -> None:
    gate = Gate()

    async def answer(call: AgentCall) -> Json:
        await gate.pass_through()
        return saying(_AI_ANSWER)

    play.answer(answer)
    ana = play.operator("Ana")
    await play.say(_QUESTION)
    await play.called()
    await ana.take()
    await ana.write(_HUMAN_ANSWER)
    await play.got()
    gate.open()
    await play.until(lambda: play.calls[0].ended_at is not None, "the agent answers")
    await play.quiet()
    play.expect_received(_HUMAN_ANSWER)
    play.expect_ended("turn", "obsolete", "authority_revoked")
    play.expect_calls(1)


async def _during_send(play: Play) -> None:
    wire = Gate()
    play.stage.graph.script(play.contact, Hang(gate=wire))

    async def answer(call: AgentCall) -> Json:
        return saying(_AI_ANSWER, _AI_SECOND)

    play.answer(answer)
    ana = play.operator("Ana")
    await play.say(_QUESTION)
    await play.journalled("turn", "sealed")
    await play.got()
    play.note(wall_seconds(), "channel", "its answer to the call does not come", "the call hangs")
    taken = cast("dict[str, Any]", (await ana.take()).json())
    state: str = taken["authority"]["state"]
    owner = name_of(taken["authority"]["owner"])
    play.expect("HANDOFF_PENDING while the call hangs", state == "HANDOFF_PENDING", found=state)
    play.expect("the owner is named already", owner == "Ana", found=owner)
    play.note(wall_seconds(), "channel", "answers the call", "accepted")
    wire.open()
    await play.journalled("authority", "HUMAN_ACTIVE")
    # Longer than the interval between the parts: the second one had its chance.
    await play.quiet(2.5)
    states = [event.state for event in play.events("authority")]
    play.expect(
        "HUMAN_ACTIVE once the call is over",
        states == ["HANDOFF_PENDING", "HUMAN_ACTIVE"],
        found=", ".join(states),
    )
    play.expect_received(_AI_ANSWER)
    play.expect_ended("outbound", "revoked", "authority_revoked")


async def _two_operators(play: Play) -> None:
    play.answer(answering_each({_QUESTION: _AI_ANSWER}))
    await play.say(_QUESTION)
    responses = await asyncio.gather(play.operator("Ana").take(), play.operator("Bruno").take())
    statuses = sorted(response.status_code for response in responses)
    play.expect("one 200 and one 409", statuses == [200, 409], found=statuses)
    holder = _owner_in(responses, 200)
    named = _owner_in(responses, 409)
    play.expect("the conflict names who holds it", named != "nobody" and named == holder, found=named)
    await play.quiet()
    conversation = await play.stage.get(f"/conversations/{play.conversation}")
    owner = name_of(conversation["authority"]["owner"])
    play.expect("one owner", owner == holder, found=owner)
    play.expect_received()


def name_of(owner: dict[str, str] | None) -> str:
    return owner["name"] if owner else "nobody"


def _owner_in(responses: Sequence[httpx2.Response], status: int) -> str:
    """The owner that the answer with this status names."""
    for response in responses:
        if response.status_code == status:
            answer = cast("dict[str, Any]", response.json())
            return name_of(answer.get("authority", answer).get("owner"))
    return "nobody"


TAKEOVER_DURING_GENERATION = Scenario(
    name="takeover_during_generation",
    shows="a human takes over while the agent works: only the human's message is sent",
    venue=Venue.DEFAULT,
    act=_during_generation,
)
TAKEOVER_DURING_SEND = Scenario(
    name="takeover_during_send",
    shows="a human takes over while the channel call hangs: confirmed when its outcome is known",
    venue=Venue.DEFAULT,
    act=_during_send,
)
TWO_OPERATORS = Scenario(
    name="two_operators",
    shows="two humans take over at once: one owner, one conflict that names them",
    venue=Venue.DEFAULT,
    act=_two_operators,
)
