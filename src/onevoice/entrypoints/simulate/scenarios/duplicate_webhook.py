"""Platforms deliver a webhook again, sometimes many times at once."""

from __future__ import annotations

from onevoice.entrypoints.simulate.conversation_agent import answering_each
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue

_TIMES = 50
_QUESTION = "tem estacionamento?"
_ANSWER = "Temos sim, na rua de trás."


async def _act(play: Play) -> None:
    play.answer(answering_each({_QUESTION: _ANSWER}))
    await play.say(_QUESTION, times=_TIMES)
    await play.got()
    await play.quiet()
    timeline = await play.stage.get(f"/conversations/{play.conversation}/timeline", limit="200")
    stored = [item for item in timeline["items"] if item["kind"] == "inbound"]
    play.expect("messages stored: 1", len(stored) == 1, found=len(stored))
    play.expect_calls(1)
    play.expect("the call has one part", play.calls[0].texts == (_QUESTION,), found=len(play.calls[0].texts))
    play.expect_received(_ANSWER)


DUPLICATE_WEBHOOK = Scenario(
    name="duplicate_webhook",
    shows="the same webhook 50 times at once: one message, one call, one answer",
    venue=Venue.DEFAULT,
    act=_act,
)
