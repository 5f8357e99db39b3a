"""Nobody waits for somebody else: not the platform for the agent, nor one conversation for another."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from onevoice.testing import LoopbackAgent
from onevoice.testing.graph_server import Hang
from tests.process.conftest import Place
from tests.process.server import eventually

SLOW = "5521911110000"
QUICK = "5521922220000"


async def test_the_webhook_answers_while_agent_and_channel_hang(place: Place) -> None:
    """A conversation whose agent hangs, and one whose channel hangs, are still told 200 and stored."""
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        hang = Hang()
        place.graph.script(QUICK, hang)
        _, door = await place.serve({"agent": {"use": agent.url}})
        await door.say("oi", contact=QUICK)
        await hang.gate.reached(seconds_max=15)
        held = agent.script({"messages": [{"text": "Certo!"}]}, held=True)
        await door.say("oi", contact=SLOW)
        await held.reached(seconds_max=15)

        async with asyncio.timeout(5):
            await door.say("ainda aí?", contact=SLOW)
            await door.say("ainda aí?", contact=QUICK)
            await door.say("oi", contact="5521933330000")

        assert await door.states("inbound", SLOW) == ["claimed", "open"]
        assert await door.states("inbound", QUICK) == ["answered", "open"]
        held.open()
        hang.gate.open()
        await door.reaches("outbound", "sent", contact="5521933330000")


async def test_a_slow_conversation_delays_no_other(place: Place) -> None:
    """Twenty others are answered while one agent call and one channel call hang."""
    async with (
        LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent,
        AsyncExitStack() as gates,
    ):
        held = agent.script({"messages": [{"text": "Certo!"}]}, held=True)
        gates.callback(held.open)
        hang = Hang()
        gates.callback(hang.gate.open)
        place.graph.script(SLOW, hang)
        sections = {"agent": {"use": agent.url}, "outbox": {"send_timeout_seconds": 30.0}}
        _, door = await place.serve(sections)
        await door.say("oi", contact="5521944440000")
        await held.reached(seconds_max=15)
        await door.say("oi", contact=SLOW)
        await hang.gate.reached(seconds_max=15)
        others = [f"55219555500{number:02}" for number in range(20)]

        await asyncio.gather(*(door.say("oi", contact=other) for other in others))

        async def all_answered() -> bool:
            return {message.address for message in place.graph.messages} >= set(others)

        await eventually(all_answered, "the others are answered")
        assert await door.states("outbound", SLOW) == ["sending"]
        assert await door.states("turn", "5521944440000") == ["running"]
        assert await door.states("outbound", "5521944440000") == []
