"""Two servers on one database: the rows decide, whoever is asked."""

from __future__ import annotations

import asyncio

from onevoice.testing import LoopbackAgent
from tests.process.conftest import Place
from tests.process.server import eventually


async def test_duplicates_on_both_are_one_message_and_one_answer(place: Place) -> None:
    """The same webhooks at both doors at once: each message counts once."""
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        _, one = await place.serve({"agent": {"use": agent.url}})
        _, other = await place.serve()
        items = [one.message(text) for text in ("oi", "queria marcar", "pra sexta")]

        statuses = await asyncio.gather(
            *(door.deliver(item) for item in items for _ in range(5) for door in (one, other))
        )
        await one.reaches("outbound", "sent")

        assert set(statuses) == {200}
        assert await other.states("inbound") == ["answered"] * 3
        assert len(agent.requests) == 1
        assert len(place.graph.requests) == 1


async def test_many_conversations_over_two_servers_are_answered_once_each(place: Place) -> None:
    """Claims and sends of both processes interleave; no lane is served twice."""
    contacts = [f"55216000000{number:02}" for number in range(40)]
    _, one = await place.serve({"turns": {"debounce_seconds": 0.2}})
    _, other = await place.serve()

    await asyncio.gather(*(door.say("oi", contact=contact) for contact in contacts for door in (one, other)))

    async def all_said() -> bool:
        return sum(message.text.count("oi") for message in place.graph.messages) >= 2 * len(contacts)

    async def none_open() -> bool:
        found = (await one.read("/conversations", limit="200"))["items"]
        return [item["unanswered_count"] for item in found] == [0] * len(contacts)

    await eventually(all_said, "everybody is answered", seconds_max=30)
    await eventually(none_open, "nothing is open")
    for contact in contacts:
        said = [message.text for message in place.graph.messages if message.address == contact]
        assert sum(text.count("oi") for text in said) == 2, said


async def test_the_survivor_takes_over_from_the_killed(place: Place) -> None:
    """What the dead process was running is answered by the other one lease later, without a restart."""
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        first, door = await place.serve({"agent": {"use": agent.url}})
        held = agent.script({"messages": [{"text": "from the dead"}]}, held=True)
        await door.say("oi")
        await held.reached(seconds_max=15)
        _, survivor = await place.serve()

        await first.killed()
        held.open()

        await survivor.reaches("outbound", "sent")
        turns = await survivor.timeline(kind="turn")
        assert [(turn["state"], turn["reason"]) for turn in turns] == [
            ("abandoned", "lease_lost"),
            ("sealed", "answered"),
        ]
        assert [message.text for message in place.graph.messages] == ["Certo!"]
