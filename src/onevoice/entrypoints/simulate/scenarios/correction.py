"""The customer corrects themselves while the agent works: before it has done anything, and after."""

from __future__ import annotations

from typing import Any, cast

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Json, saying
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.stopwatch import wall_seconds
from onevoice.errors import ScenarioStuck
from onevoice.testing import Gate

_CREATED = 201

_FRIDAY, _SATURDAY = "pode ser sexta", "ah, na verdade pode ser sábado"
_FRIDAY_OFFER = "Sexta às 9h está livre. Confirmo?"
_SATURDAY_OFFER = "Sábado às 10h está livre. Confirmo?"
_FRIDAY_BOOKED = "Marquei sexta às 9h."
_SATURDAY_ASKED = "Troco a sexta às 9h pelo sábado às 10h?"


async def _correction(play: Play) -> None:
    gate = Gate()

    async def answer(call: AgentCall) -> Json:
        if _SATURDAY in call.texts:
            return saying(_SATURDAY_OFFER)
        await gate.pass_through()
        return saying(_FRIDAY_OFFER)

    play.answer(answer)
    await play.say(_FRIDAY)
    await play.called()
    await play.say(_SATURDAY)
    gate.open()
    await play.got()
    await play.quiet()
    play.expect_received(_SATURDAY_OFFER)
    play.expect_ended("turn", "discarded", "newer_message")
    play.expect(
        "the second call reads both messages",
        play.calls[-1].texts == (_FRIDAY, _SATURDAY),
        found=" | ".join(play.calls[-1].texts),
    )


async def _correction_after_write(play: Play) -> None:
    written, gate = Gate(opened=True), Gate()

    async def answer(call: AgentCall) -> Json:
        if _SATURDAY in call.texts:
            return saying(_SATURDAY_ASKED)
        await _book(play, call, day="sexta")
        await written.pass_through()
        await gate.pass_through()
        return saying(_FRIDAY_BOOKED)

    play.answer(answer)
    await play.say(_FRIDAY)
    await play.called()
    await written.reached(seconds_max=15.0)
    await play.say(_SATURDAY)
    gate.open()
    await play.got(2)
    await play.quiet()
    play.expect_received(_FRIDAY_BOOKED, _SATURDAY_ASKED)
    play.expect_ended("turn", "sealed", "answered")
    done = play.events("effect", "done")
    play.expect("Friday is booked once", len(done) == 1, found=f"{len(done)} ×")
    play.expect(
        "the second call knows that Friday was confirmed",
        _FRIDAY_BOOKED in play.calls[-1].history,
        found=" | ".join(play.calls[-1].history),
    )


async def _book(play: Play, call: AgentCall, *, day: str) -> None:
    """A write tool of an agent behind HTTP: ask the gate, do it, say what came of it."""
    stage = play.stage
    headers = {"authorization": f"Bearer {stage.token}"}
    wanted = {"tool": "book", "args": {"day": day}, "retry_safe": False}
    url = f"{stage.url}/api/v1"
    response = await stage.http.post(f"{url}/turns/{call.turn}/effects", json=wanted, headers=headers)
    if response.status_code != _CREATED:
        raise ScenarioStuck(f"the gate lets the agent book; found: {response.status_code}")
    effect = cast("dict[str, Any]", response.json())["effect"]
    play.note(wall_seconds(), "agent", f"books {day}", "the gate answered 201")
    done = {"state": "done", "result": f"{day} 9h"}
    await stage.http.post(f"{url}/effects/{effect}", json=done, headers=headers)


CORRECTION = Scenario(
    name="correction",
    shows="corrected while the agent thinks: the first reply is discarded, one answer about Saturday",
    venue=Venue.DEFAULT,
    act=_correction,
)
CORRECTION_AFTER_WRITE = Scenario(
    name="correction_after_write",
    shows="corrected after Friday was booked: Friday is confirmed, then Saturday answered",
    venue=Venue.DEFAULT,
    act=_correction_after_write,
)
