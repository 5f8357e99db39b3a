"""Files to the customer through a real server: uploaded, then named; nothing lost, nothing twice, nothing overtaken."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from onevoice.testing import Gate, LoopbackAgent
from onevoice.testing.graph_uploads import UploadAnswer
from tests.process.conftest import Place
from tests.process.door import Door
from tests.process.server import Json, Sections, Server

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(200)
# A process that takes over waits until the killed one's time for a small file is over: 25 s.
TAKEN_OVER_SECONDS = 45.0


@pytest.fixture
async def agent() -> AsyncIterator[LoopbackAgent]:
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        yield agent


def _sections(agent: LoopbackAgent) -> Sections:
    return {"agent": {"use": agent.url}, "turns": {"debounce_seconds": 0.0}}


async def _take(door: Door) -> str:
    """The one conversation, taken by the automation."""
    [conversation] = await door.conversations()
    path = f"/api/v1/conversations/{conversation['id']}"
    assert (await door.call("POST", f"{path}/take")).status_code == 200
    return path


async def _hand_in(door: Door, content: bytes | AsyncIterator[bytes] = PNG) -> str:
    answer = await door.call("POST", "/api/v1/media", content=content, headers={"x-filename": "mapa.png"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["media"]["id"])


async def _write(door: Door, path: str, key: str, **body: object) -> None:
    answer = await door.call("POST", f"{path}/messages", json=body, headers={"idempotency-key": key})
    assert answer.status_code == 201, answer.text


def _contents(place: Place) -> list[Json]:
    """The messages that were taken, each as what depends on its type."""
    return [
        {message.body["type"]: message.body[str(message.body["type"])]} for message in place.graph.messages
    ]


async def test_an_operators_picture_is_uploaded_and_then_named(place: Place, agent: LoopbackAgent) -> None:
    """The bytes once, the message once; a second message with the file needs no second upload."""
    _, door = await place.serve(_sections(agent))
    await door.say("onde fica?")
    await door.reaches("outbound", "sent")
    path = await _take(door)
    media = await _hand_in(door)
    await _write(door, path, "k1", text="aqui", media=media)
    await _write(door, path, "k2", media={"id": media, "kind": "document"})
    await door.reaches("outbound", "sent", "sent", "sent")

    [upload] = place.graph.uploads.requests
    assert upload.content == PNG
    assert _contents(place)[1:] == [
        {"image": {"id": upload.external_id, "caption": "aqui"}},
        {"document": {"id": upload.external_id, "filename": "mapa.png"}},
    ]
    served = await door.call("GET", f"/api/v1/media/{media}")
    assert hashlib.sha256(served.content).digest() == hashlib.sha256(PNG).digest()


async def test_an_agents_file_and_choices_arrive_in_order(place: Place, agent: LoopbackAgent) -> None:
    """What is sealed behind a file waits for its upload."""
    gate = Gate()
    place.graph.uploads.script(UploadAnswer(gate=gate))
    agent.script(
        {
            "messages": [
                {"type": "image", "data": base64.b64encode(PNG).decode(), "text": "o mapa"},
                {"text": "Vem?", "buttons": [{"id": "s", "title": "Sim"}]},
            ]
        }
    )
    _, door = await place.serve(_sections(agent))
    await door.say("onde fica?")
    await gate.reached(seconds_max=20.0)
    assert place.graph.requests == []
    gate.open()
    await door.reaches("outbound", "sent", "sent")

    assert [next(iter(content)) for content in _contents(place)] == ["image", "interactive"]


async def test_a_kill_during_the_upload_loses_nothing(place: Place, agent: LoopbackAgent) -> None:
    """The next process uploads again, and the message leaves once."""
    hanging = Gate()
    place.graph.uploads.script(UploadAnswer(gate=hanging))
    agent.script({"messages": [{"type": "image", "data": base64.b64encode(PNG).decode()}]})
    server, door = await place.serve(_sections(agent))
    await door.say("onde fica?")
    await hanging.reached(seconds_max=20.0)
    await server.killed()
    _, door = await place.serve()
    await door.reaches("outbound", "sent", seconds_max=TAKEN_OVER_SECONDS)

    assert len(place.graph.uploads.requests) == 2
    assert [next(iter(content)) for content in _contents(place)] == ["image"]


async def test_a_large_document_passes_through_in_pieces(place: Place, agent: LoopbackAgent) -> None:
    """96 MiB in and out again, without the process ever holding them."""
    digest = hashlib.sha256()

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(96):
            piece = number.to_bytes(4, "big") * (2**20 // 4)
            digest.update(piece)
            yield piece

    server, door = await place.serve(_sections(agent))
    await door.say("manda o contrato")
    await door.reaches("outbound", "sent")
    path = await _take(door)
    before = _peak_bytes(server)
    await _write(door, path, "k1", media=await _hand_in(door, pieces()))
    await door.reaches("outbound", "sent", "sent", seconds_max=60.0)

    [upload] = place.graph.uploads.requests
    assert upload.sha256 == digest.hexdigest()
    assert _peak_bytes(server) - before < 48 * 2**20


def _peak_bytes(server: Server) -> int:
    """The most memory that the process ever had."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
