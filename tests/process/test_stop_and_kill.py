"""SIGTERM drains, SIGKILL loses nothing: at every moment of the path, exactly one answer.

A restarted server finds the rows of the killed one; the customer's side is the Graph stand-in, which has seen
every message that left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.testing import LoopbackAgent
from onevoice.testing.graph_server import DropRead, Hang
from tests.process.conftest import Place
from tests.process.door import ANA, Door
from tests.process.server import Sections, Server, eventually

LEASE_SECONDS = 1.5


@pytest.fixture
async def agent() -> AsyncIterator[LoopbackAgent]:
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        yield agent


def asking(agent: LoopbackAgent, **outbox: float) -> Sections:
    return {"agent": {"use": agent.url}, "outbox": outbox}


async def stopped(server: Server) -> None:
    """SIGTERM ends it by itself with 0."""
    server.terminate()
    assert await server.ended() == 0


async def answered_once(place: Place, door: Door, *, inbound: int = 1) -> None:
    """Every message is answered, by one message that left once."""
    await door.reaches("outbound", "sent")
    assert await door.states("inbound") == ["answered"] * inbound
    assert [message.text for message in place.graph.messages] == ["Certo!"]
    assert len(place.graph.requests) == 1


async def test_a_message_answered_with_200_survives_a_kill_at_once(
    place: Place, agent: LoopbackAgent
) -> None:
    """The 200 came after the commit: the message is there after the restart and is answered once."""
    server, door = await place.serve(asking(agent))
    await door.say("oi")
    await server.killed()

    _, door = await place.serve()

    await answered_once(place, door)
    assert len(agent.requests) == 1


async def test_a_stop_in_the_window_leaves_the_turn_to_the_next_process(
    place: Place, agent: LoopbackAgent
) -> None:
    """Nobody waits for the window to end; the timer is in the row."""
    server, door = await place.serve({"turns": {"debounce_seconds": 4.0}, **asking(agent)})
    await door.say("oi", "queria marcar")
    await stopped(server)
    assert agent.requests == []

    _, door = await place.serve()

    await answered_once(place, door, inbound=2)
    assert len(agent.requests) == 1


async def test_a_stop_waits_for_the_agent_and_sends_its_answer_after_the_restart(
    place: Place, agent: LoopbackAgent
) -> None:
    """The running turn is settled while the server drains; what was not begun is sent by the next process."""
    gate = agent.script({"messages": [{"text": "Certo!"}]}, held=True)
    server, door = await place.serve({"turns": {"lease_seconds": 20.0}, **asking(agent)})
    await door.say("oi")
    await gate.reached(seconds_max=15)
    server.terminate()
    await closed(door)

    gate.open()

    assert await server.ended() == 0
    _, door = await place.serve()
    await answered_once(place, door)
    assert len(agent.requests) == 1
    assert await door.states("turn") == ["sealed"]


async def test_a_stop_does_not_wait_for_ever_for_an_agent(place: Place, agent: LoopbackAgent) -> None:
    """After drain_seconds the turn is abandoned for a drain, which is no attempt, and runs anew at once."""
    gate = agent.script({"messages": [{"text": "late"}]}, held=True)
    sections = {"server": {"drain_seconds": 0.5}, "turns": {"lease_seconds": 20.0}, **asking(agent)}
    server, door = await place.serve(sections)
    await door.say("oi")
    await gate.reached(seconds_max=15)
    await stopped(server)
    gate.open()

    _, door = await place.serve()

    await answered_once(place, door)
    first, second = await door.timeline(kind="turn")
    assert (first["state"], first["reason"]) == ("abandoned", "drain")
    assert (second["state"], second["attempt"]) == ("sealed", 1)


async def test_a_stop_finishes_a_send_that_has_begun(place: Place, agent: LoopbackAgent) -> None:
    """The channel's answer is waited for and recorded; nothing is sent again."""
    hang = Hang()
    place.graph.script(None, hang)
    server, door = await place.serve(asking(agent))
    await door.say("oi")
    await hang.gate.reached(seconds_max=15)
    server.terminate()
    await closed(door)

    hang.gate.open()

    assert await server.ended() == 0
    _, door = await place.serve()
    await answered_once(place, door)


async def test_a_stopping_server_ends_when_the_channel_never_answers(
    place: Place, agent: LoopbackAgent
) -> None:
    """The send's own deadline bounds the drain; the outcome is unknown, not tried again."""
    place.graph.script(None, Hang())
    server, door = await place.serve(asking(agent, send_timeout_seconds=1.0))
    await door.say("oi")
    await place.graph.called(1, seconds_max=15)
    await stopped(server)

    _, door = await place.serve()

    [sent] = await door.reaches("outbound", "uncertain")
    assert sent["attempt_count"] == 1
    assert len(place.graph.requests) == 1


async def test_a_kill_in_the_window_changes_nothing(place: Place, agent: LoopbackAgent) -> None:
    """The burst is complete whoever started it."""
    server, door = await place.serve(
        {"turns": {"debounce_seconds": 60.0, "max_wait_seconds": 60.0}, **asking(agent)}
    )
    await door.say("oi")
    await server.killed()

    # The next process has a shorter window, which begins with the next message.
    _, door = await place.serve({"turns": {"max_wait_seconds": 60.0}, **asking(agent)})
    await door.say("queria marcar")

    await answered_once(place, door, inbound=2)
    assert len(agent.requests) == 1


async def test_a_kill_during_the_agent_call_costs_at_most_a_lease(place: Place, agent: LoopbackAgent) -> None:
    """The dead worker's turn is abandoned when its lease is over, and another answers."""
    gate = agent.script({"messages": [{"text": "from the dead"}]}, held=True)
    server, door = await place.serve(asking(agent))
    await door.say("oi")
    await gate.reached(seconds_max=15)
    await server.killed()
    gate.open()

    _, door = await place.serve()
    await agent.called(2, seconds_max=LEASE_SECONDS + 5)

    await answered_once(place, door)
    first, second = await door.timeline(kind="turn")
    assert (first["state"], first["reason"]) == ("abandoned", "lease_lost")
    assert (second["state"], second["attempt"]) == ("sealed", 2)


async def test_a_conversation_whose_workers_always_die_goes_to_a_human(
    place: Place, agent: LoopbackAgent
) -> None:
    """After max_attempts nobody tries again."""
    sections = {"turns": {"max_attempts": 2, "lease_seconds": 0.5}, **asking(agent)}
    for attempt in (1, 2):
        gate = agent.script({"messages": [{"text": "never"}]}, held=True)
        server, door = await place.serve(sections if attempt == 1 else None)
        if attempt == 1:
            await door.say("oi")
        await gate.reached(seconds_max=15)
        await server.killed()
        gate.open()

    _, door = await place.serve()

    async def handed_over() -> bool:
        authority = (await door.conversations())[0]["authority"]
        return (authority["state"], authority["reason"]) == ("HANDOFF_PENDING", "integration_failure")

    await eventually(handed_over, "the conversation is with a human")
    assert len(agent.requests) == 2
    assert place.graph.requests == []


async def test_a_kill_between_verdict_and_send_gives_one_answer(place: Place, agent: LoopbackAgent) -> None:
    """The sealed reply waits in its row and leaves when its hold is over."""
    server, door = await place.serve(asking(agent, hold_seconds=4.0))
    await door.say("oi")
    await door.reaches("outbound", "held")
    await server.killed()
    assert place.graph.requests == []

    _, door = await place.serve()

    await answered_once(place, door)
    assert len(agent.requests) == 1


async def test_a_kill_during_the_channel_call_never_sends_twice(place: Place, agent: LoopbackAgent) -> None:
    """Deadline and quarantine pass, the outcome is unknown, the status webhook's correlation id settles it."""
    place.graph.script(None, Hang())
    server, door = await place.serve(asking(agent, send_timeout_seconds=0.7))
    await door.say("oi")
    await place.graph.called(1, seconds_max=15)
    await server.killed()

    _, door = await place.serve()
    [uncertain] = await door.reaches("outbound", "uncertain")
    [request] = place.graph.requests
    await door.report("wamid.LATE", "delivered", biz_opaque_callback_data=request.correlation_id)

    [delivered] = await door.reaches("outbound", "delivered")
    assert uncertain["reason"] == "sender_lost"
    assert delivered["external_id"] == "wamid.LATE"
    assert len(place.graph.requests) == 1


async def test_an_unknown_outcome_without_evidence_is_parked(place: Place, agent: LoopbackAgent) -> None:
    """The killed sender's message was lost on its way: a human decides, nobody repeats it."""
    place.graph.script(None, Hang(then=DropRead(accepted=False)))
    sections = asking(agent, send_timeout_seconds=0.7, uncertain_wait_seconds=1.0)
    server, door = await place.serve(sections)
    await door.say("oi")
    await place.graph.called(1, seconds_max=15)
    await server.killed()

    _, door = await place.serve()

    [parked] = await door.reaches("outbound", "parked")
    assert parked["reason"] == "outcome_unknown"
    assert (await door.read("/outbound", state="parked"))["items"][0]["contact"]["id"] == ANA
    assert len(place.graph.requests) == 1


async def closed(door: Door) -> None:
    """Wait until the stopping server takes no new webhook."""

    async def look() -> bool:
        try:
            await door.get("/healthz")
        except httpx2.TransportError:
            return True
        return False

    await eventually(look, "the listener is closed")
