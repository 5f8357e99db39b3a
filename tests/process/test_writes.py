"""Write tools in real processes: killed in the middle, stopped in the middle, and overtaken by a correction."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.process.conftest import Place
from tests.process.door import Door
from tests.process.server import eventually

AGENT = """
import asyncio, contextlib, pathlib
from onevoice import writes

HERE = pathlib.Path(__file__).parent


@writes
async def book(day):
    with (HERE / "booked").open("a") as diary:
        diary.write(day + "\\n")
    while not (HERE / "go").exists():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await asyncio.Event().wait()
    return f"Marcado: {day}."


async def answer(context):
    return await book("sexta") if context.messages[0].text == "sexta" else "Certo!"
"""


async def open_clinic(place: Place) -> Path:
    """The agent's file beside the configuration; returns the diary it writes to."""
    (place.folder / "clinic.py").write_text(AGENT, encoding="utf-8")
    return place.folder / "booked"


async def begun(diary: Path) -> None:
    async def look() -> bool:
        return await asyncio.to_thread(diary.exists)

    await eventually(look, "the tool was called")


async def handed_over(door: Door) -> None:
    """The conversation waits for a human because of the write."""

    async def look() -> bool:
        [conversation] = await door.conversations()
        authority = conversation["authority"]
        return (authority["state"], authority["reason"]) == ("HANDOFF_PENDING", "effect_outcome_unknown")

    await eventually(look, "the conversation is with a human")


async def test_killed_between_the_effect_and_its_result_the_booking_exists_once(place: Place) -> None:
    """The next process repeats nothing; a human is asked."""
    diary = await open_clinic(place)
    server, door = await place.serve({"agent": {"use": "clinic:answer"}})
    await door.say("sexta")
    await begun(diary)
    await server.killed()
    (place.folder / "go").touch()
    _, door = await place.serve()

    await handed_over(door)
    assert diary.read_text() == "sexta\n"
    assert await door.states("effect") == ["started"]
    assert await door.states("outbound") == []
    assert place.graph.requests == []


async def test_a_stop_waits_for_a_write(place: Place) -> None:
    """The tool ends, its turn is settled, and the next process sends the answer."""
    diary = await open_clinic(place)
    server, door = await place.serve({"agent": {"use": "clinic:answer"}, "turns": {"lease_seconds": 20.0}})
    await door.say("sexta")
    await begun(diary)
    server.terminate()
    (place.folder / "go").touch()
    assert await server.ended() == 0
    _, door = await place.serve()

    await door.reaches("outbound", "sent")
    assert await door.states("effect") == ["done"]
    assert diary.read_text() == "sexta\n"


async def test_a_stop_that_cannot_wait_asks_a_human(place: Place) -> None:
    """A tool that does not end within the drain leaves its question behind."""
    diary = await open_clinic(place)
    server, door = await place.serve({"agent": {"use": "clinic:answer"}, "server": {"drain_seconds": 0.2}})
    await door.say("sexta")
    await begun(diary)
    server.terminate()
    assert await server.ended() == 0
    _, door = await place.serve()

    await handed_over(door)
    assert [item["reason"] for item in await door.timeline(kind="turn")] == ["drain"]
    assert diary.read_text() == "sexta\n"


async def test_a_correction_during_a_write_is_answered_after_its_confirmation(place: Place) -> None:
    """The call is not cut short in the middle of the write; what happened is told, then the correction answered."""
    diary = await open_clinic(place)
    _, door = await place.serve({"agent": {"use": "clinic:answer"}})
    await door.say("sexta")
    await begun(diary)
    await door.say("na verdade sábado")
    (place.folder / "go").touch()

    await door.reaches("outbound", "sent", "sent")
    assert [message.text for message in place.graph.messages] == ["Marcado: sexta.", "Certo!"]
    assert diary.read_text() == "sexta\n"
