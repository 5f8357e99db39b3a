"""A conversation goes to a human and back while an old turn is still running."""

from __future__ import annotations

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Json, saying
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.testing import Gate

_QUESTION = "quanto custa a consulta?"
_OLD, _NEW = "(a resposta velha)", "A consulta custa R$ 180."


async def _act(play: Play) -> None:
    gate = Gate()

    async def answer(call: AgentCall) -> Json:
        if call.number == 1:
            await gate.pass_through()
            return saying(_OLD)
        return saying(_NEW)

    play.answer(answer)
    ana = play.operator("Ana")
    await play.say(_QUESTION)
    await play.called()
    await ana.take()
    await ana.release()
    await play.called(2)
    await play.got()
    gate.open()
    await play.until(lambda: play.calls[0].ended_at is not None, "the old call ends")
    await play.quiet()
    play.expect_received(_NEW)
    play.expect_ended("turn", "obsolete", "authority_revoked")
    play.expect(
        "the new turn answers what is open",
        play.calls[1].texts == (_QUESTION,),
        found=" | ".join(play.calls[1].texts),
    )
    play.expect_calls(2)


RETURN_TO_AI = Scenario(
    name="return_to_ai",
    shows="taken and released while an old turn runs: its reply is not sent, a new turn answers",
    venue=Venue.DEFAULT,
    act=_act,
)
