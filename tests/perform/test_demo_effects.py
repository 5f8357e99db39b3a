"""The demo agent's bookings are real effects: they pass the gate, and a correction in time is not booked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date

import httpx2

from onevoice.adapters.agents.demo.agent import DemoAgent
from onevoice.app import build_agent
from onevoice.settings import Settings
from tests.perform.clinic import write_states
from tests.perform.stage import Stage

FRIDAY = date(2026, 12, 4)


async def employ_demo(stage: Stage) -> DemoAgent:
    settings = Settings.model_validate({"agent": {"use": "builtin:demo"}})
    async with httpx2.AsyncClient() as http:
        agent = build_agent(settings, http=http, clock=stage.clock)
    assert isinstance(agent, DemoAgent)
    stage.runtime = replace(stage.runtime, agent=agent)
    return agent


async def think(stage: Stage, answering: asyncio.Task[object]) -> None:
    """Let the demo agent's pretended thinking pass."""
    async with asyncio.timeout(5.0):
        while not answering.done():
            await stage.clock.advance(0.4)


async def test_a_booking_of_the_demo_is_an_effect(stage: Stage) -> None:
    """With its arguments and result, told by the reply."""
    agent = await employ_demo(stage)
    wanted = agent.book.free_times(FRIDAY, now=stage.clock.now())[0]
    await stage.customer(f"quero marcar uma consulta sexta às {wanted:%H:%M}")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering: asyncio.Task[object] = asyncio.create_task(stage.answer(turn))
    await think(stage, answering)
    await stage.run()

    (effect,) = await stage.rows("effect")
    assert await write_states(stage) == [("book_appointment", "done", None)]
    assert effect["told_at"] is not None
    assert f"{wanted:%H:%M}" in effect["result"]
    assert len(stage.sent) == 1
    assert (await stage.rows("turn"))[0]["wrote"] is True


async def test_a_correction_in_time_is_not_booked(stage: Stage) -> None:
    """While the agent thinks the customer chooses another day: only that one is in the book."""
    agent = await employ_demo(stage)
    wanted = agent.book.free_times(FRIDAY, now=stage.clock.now())[0]
    await stage.customer(f"quero marcar uma consulta sexta às {wanted:%H:%M}")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering: asyncio.Task[object] = asyncio.create_task(stage.answer(turn))
    await stage.clock.advance(0.1)
    await stage.customer("espera, ainda não")
    await think(stage, answering)

    assert await write_states(stage) == [("book_appointment", "refused", "newer_message")]
    assert stage.verdicts[0].reason == "newer_message"
