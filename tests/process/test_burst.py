"""The main job: signed webhooks in, one agent call and one answer out."""

from __future__ import annotations

import asyncio

from onevoice.testing import LoopbackAgent
from tests.process.conftest import Place
from tests.process.door import ANA
from tests.process.server import AGENT_SECRET

BURST = ("oi", "queria marcar", "pra sexta", "de manhã se tiver")


async def test_a_burst_of_four_is_one_call_and_one_answer(place: Place) -> None:
    """Four webhooks give one signed agent call with four parts and one message to the customer."""
    answer = {"messages": [{"text": "Sexta às 9h está livre. Confirmo?"}]}
    async with LoopbackAgent(otherwise=answer, secret=AGENT_SECRET) as agent:
        server, door = await place.serve({"agent": {"use": agent.url, "secret": AGENT_SECRET}})

        await door.say(*BURST)
        await place.graph.called(1, seconds_max=15)
        [sent] = await door.reaches("outbound", "sent")

        [request] = agent.requests
        assert request.signature_valid
        assert request.headers["idempotency-key"] == request.content["turn"]["id"]  # type: ignore[index]
        assert [part["text"] for part in request.content["messages"]] == list(BURST)  # type: ignore[index,attr-defined]
        assert [(message.address, message.text) for message in place.graph.messages] == [
            (ANA, "Sexta às 9h está livre. Confirmo?")
        ]
        assert sent["external_id"] == place.graph.messages[0].external_id
        assert await door.states("inbound") == ["answered"] * 4
        server.terminate()
        assert await server.ended() == 0
    assert server.out == "ready\n"


async def test_fifty_equal_webhooks_at_once_are_one_message(place: Place) -> None:
    """The same webhook fifty times over gives one message, one call and one answer."""
    _, door = await place.serve()
    item = door.message("oi")

    statuses = await asyncio.gather(*(door.deliver(item) for _ in range(50)))
    await place.graph.called(1, seconds_max=15)
    await door.reaches("outbound", "sent")

    assert statuses == [200] * 50
    assert await door.states("inbound") == ["answered"]
    assert len(place.graph.requests) == 1
