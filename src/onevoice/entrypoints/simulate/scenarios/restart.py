"""The process dies between verdict and send: the row says what to do, and another process does it."""

from __future__ import annotations

from onevoice.entrypoints.simulate.conversation_agent import answering_each
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.stopwatch import wall_seconds

_QUESTION = "vocês abrem no feriado?"
_ANSWER = "No feriado abrimos das 10h às 14h."


async def _act(play: Play) -> None:
    play.answer(answering_each({_QUESTION: _ANSWER}))
    await play.say(_QUESTION)
    await play.journalled("turn", "sealed")
    play.stage.kill_server()
    play.note(wall_seconds(), "crash", "the process is killed", "SIGKILL")
    play.expect("nothing was sent before the crash", not play.received, found=f"{len(play.received)} sent")
    await play.stage.start_server()
    play.note(wall_seconds(), "crash", "another process is ready", "")
    await play.got()
    await play.quiet()
    play.expect_received(_ANSWER)
    play.expect_calls(1)


RESTART = Scenario(
    name="restart",
    shows="killed between verdict and send: exactly one answer after the restart",
    venue=Venue.RESTARTED,
    act=_act,
)
