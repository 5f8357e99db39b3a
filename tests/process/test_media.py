"""Voice notes and files through a real server: one call with the words, and nothing lost to a kill."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from onevoice.testing import Gate, LoopbackAgent
from onevoice.testing.graph_media import MediaAnswer
from onevoice.testing.transcription_server import LoopbackTranscription, TranscriptionFault
from tests.process.conftest import Place
from tests.process.door import Door
from tests.process.server import Json, Sections, Server, eventually

VOICE = b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead\x01\x01" + bytes(50)
# A process that takes over waits for the lease of the killed one: 15 s.
TAKEN_OVER_SECONDS = 40.0


@pytest.fixture
async def agent() -> AsyncIterator[LoopbackAgent]:
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        yield agent


@pytest.fixture
async def transcription() -> AsyncIterator[LoopbackTranscription]:
    async with LoopbackTranscription(otherwise="pra sexta") as transcription:
        yield transcription


def _sections(agent: LoopbackAgent, transcription: LoopbackTranscription, **turns: float) -> Sections:
    return {
        "agent": {"use": agent.url},
        "transcription": {"url": transcription.url, "api_key": "loopback"},
        "turns": turns,
    }


def _voice(door: Door, media_id: str = "900000000000001") -> Json:
    audio = {"id": media_id, "mime_type": "audio/ogg; codecs=opus", "voice": True}
    return door.message(None, type="audio", audio=audio)


def _given(agent: LoopbackAgent) -> list[list[object]]:
    """What each call was given: words where there are any, else the text."""
    return [
        [message.get("transcription") or message.get("text") for message in _messages(request.content)]
        for request in agent.requests
    ]


def _messages(content: object) -> list[Json]:
    return cast("list[Json]", cast("Json", content)["messages"])


async def _speaks(place: Place, door: Door) -> None:
    place.graph.media.put("900000000000001", VOICE)
    assert await door.deliver(_voice(door)) == 200


async def test_text_and_audio_are_one_call_with_both(
    place: Place, agent: LoopbackAgent, transcription: LoopbackTranscription
) -> None:
    """The window ends long before the words are there; the call waits for them."""
    _, door = await place.serve(_sections(agent, transcription))
    words = transcription.script("pra sexta", held=True)
    await door.say("queria marcar")
    await _speaks(place, door)
    await transcription.called()
    await door.reaches("inbound", "open", "open")
    assert agent.requests == []
    words.open()
    await door.reaches("outbound", "sent")

    assert _given(agent) == [["queria marcar", "pra sexta"]]
    assert [request.content for request in transcription.requests] == [VOICE]


async def test_without_words_the_turn_goes_on_and_says_so(place: Place, agent: LoopbackAgent) -> None:
    """The provider is down: one call after the deadline, with the audio marked."""
    async with LoopbackTranscription(otherwise=TranscriptionFault(status=503)) as down:
        _, door = await place.serve(_sections(agent, down, transcription_deadline_seconds=2.0))
        await door.say("oi")
        await _speaks(place, door)
        await door.reaches("outbound", "sent")

    assert _given(agent) == [["oi", "[voice message] [audio not transcribed]"]]


async def test_a_kill_during_a_download_loses_nothing(
    place: Place, agent: LoopbackAgent, transcription: LoopbackTranscription
) -> None:
    """The bytes stop half way, the process dies; another one fetches the file and answers its words."""
    server, door = await place.serve(_sections(agent, transcription))
    place.graph.media.put("900000000000001", VOICE * 1000)
    place.graph.media.script("900000000000001", MediaAnswer(gate=Gate(), pause_after=5000))
    assert await door.deliver(_voice(door)) == 200
    await eventually(_is_asked(place), "the file is asked for")
    await server.killed()

    _, door = await place.serve()
    await door.reaches("outbound", "sent", seconds_max=TAKEN_OVER_SECONDS)

    assert _given(agent) == [["pra sexta"]]
    assert [request.content for request in transcription.requests] == [VOICE * 1000]


async def test_a_kill_during_a_transcription_loses_nothing(
    place: Place, agent: LoopbackAgent, transcription: LoopbackTranscription
) -> None:
    """The provider holds its answer, the process dies; another one brings the audio again."""
    server, door = await place.serve(_sections(agent, transcription))
    transcription.script("never heard", held=True)
    await _speaks(place, door)
    await transcription.called()
    await server.killed()

    _, door = await place.serve()
    await door.reaches("outbound", "sent", seconds_max=TAKEN_OVER_SECONDS)

    assert len(agent.requests) == 1
    assert len(transcription.requests) == 2


async def test_a_file_on_a_private_address_is_refused(place: Place, agent: LoopbackAgent) -> None:
    """Another port of this machine is not where the channel's files are; the agent is told that it has none."""
    async with LoopbackAgent() as inside:
        _, door = await place.serve({"agent": {"use": agent.url}})
        place.graph.media.put("900000000000001", VOICE, url=inside.url)
        assert await door.deliver(_voice(door)) == 200
        await door.reaches("outbound", "sent")

        assert inside.requests == []
    assert _given(agent) == [["[voice message] [audio not transcribed]"]]
    assert "host_refused" in str(await door.timeline(kind="inbound"))


async def test_a_large_document_does_not_pass_through_memory_whole(
    place: Place, agent: LoopbackAgent
) -> None:
    """100 MB reach the folder in pieces."""
    server, door = await place.serve({"agent": {"use": agent.url}})
    await door.say("oi")
    await door.reaches("outbound", "sent")
    before = _peak_megabytes(server)
    place.graph.media.put("900000000000002", size_bytes=100_000_000, mime_type="text/plain")
    document = {"id": "900000000000002", "mime_type": "text/plain", "filename": "tabela.txt"}
    assert await door.deliver(door.message(None, type="document", document=document)) == 200

    async def is_stored() -> bool:
        items = await door.timeline(kind="inbound")
        return items[-1]["media"]["state"] == "stored"

    await eventually(is_stored, "the document is stored", seconds_max=60.0)
    [kept] = [path for path in (place.folder / ".onevoice" / "media").rglob("*") if path.is_file()]
    assert kept.stat().st_size == 100_000_000
    assert _peak_megabytes(server) - before < 60


async def test_the_customer_sees_that_somebody_is_at_work(place: Place, agent: LoopbackAgent) -> None:
    """While the agent takes its time, the newest message is marked as read and a sign of writing is shown."""
    _, door = await place.serve({"agent": {"use": agent.url}})
    answer = agent.script({"messages": [{"text": "Certo!"}]}, held=True)
    await door.say("oi", "tudo bem?")
    await agent.called()

    async def is_marked() -> bool:
        return bool(place.graph.marks)

    await eventually(is_marked, "the message is marked as read")
    answer.open()
    await door.reaches("outbound", "sent")

    newest = (await door.timeline(kind="inbound"))[-1]["external_id"]
    assert [(mark["status"], mark["message_id"]) for mark in place.graph.marks] == [("read", newest)]
    assert [message.text for message in place.graph.messages] == ["Certo!"]


def _is_asked(place: Place) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return any(request.is_for_bytes for request in place.graph.media.requests)

    return look


def _peak_megabytes(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024
