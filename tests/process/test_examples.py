"""Each folder of examples/ runs as its README says, with the provider's protocol spoken on loopback."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import tomllib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from onevoice.settings import load_settings
from onevoice.testing import LoopbackModel, ToolCall
from tests.architecture.project import ROOT
from tests.process.conftest import Place
from tests.process.door import Door
from tests.process.server import AGENT_SECRET, Sections, Server, eventually

EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if (path / "onevoice.toml").exists())
OF_LIBRARIES = ["clinic_langgraph", "clinic_openai_agents", "clinic_pydantic_ai"]
# The first call of a library takes its time on a busy machine.
PATIENT = {"debounce_seconds": 0.0, "max_wait_seconds": 120.0}
NEVER = """
import asyncio

async def decide(request):
    await asyncio.Event().wait()
    return "merge"
"""


@pytest.fixture
async def model() -> AsyncIterator[LoopbackModel]:
    async with LoopbackModel() as model:
        yield model


async def serve(
    place: Place, name: str, model: LoopbackModel, **more: Mapping[str, object]
) -> tuple[Server, Door]:
    """The example's own settings with a WhatsApp channel, and the model's provider on loopback."""
    shutil.copytree(EXAMPLES / name, place.folder, dirs_exist_ok=True)
    given = tomllib.loads((place.folder / "onevoice.toml").read_text(encoding="utf-8"))
    sections: Sections = {
        section: {**given.get(section, {}), **more.get(section, {})}
        for section in {*given, *more} - {"channels"}
    }
    return await place.serve(
        sections,
        environment={
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": model.url,
            "GOOGLE_API_KEY": "test-key",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
    )


def said(place: Place) -> list[str]:
    return [str(message.text) for message in place.graph.messages]


async def waits(door: Door) -> None:
    """The first reply is written and not yet sent."""

    async def look() -> bool:
        return len(await door.states("outbound")) == 1

    await eventually(look, "a reply waits")


@pytest.mark.parametrize("name", NAMES)
def test_every_example_loads_and_is_explained_in_five_lines(name: str) -> None:
    """Its configuration is valid as it stands, and its README says what to install and run."""
    settings = load_settings(EXAMPLES / name / "onevoice.toml", {"AGENT_SECRET": "s"})
    readme = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")

    assert settings.agent.use
    assert len(readme.splitlines()) == 5
    assert f"onevoice serve --config examples/{name}/onevoice.toml" in readme


@pytest.mark.parametrize("name", OF_LIBRARIES)
async def test_a_clinic_reads_books_and_answers(name: str, place: Place, model: LoopbackModel) -> None:
    """The burst is one turn; the read, the write and the answer go over the provider's wire."""
    model.script(
        ToolCall(name="free_hours", args={"day": "sexta"}),
        ToolCall(name="book", args={"day": "sexta", "hour": "9h"}),
        "Marcado: sexta às 9h.",
    )
    _, door = await serve(place, name, model, turns={"debounce_seconds": 0.5})

    await door.say("queria marcar", "pra sexta de manhã")
    await door.reaches("outbound", "sent", seconds_max=40)

    assert said(place) == ["Marcado: sexta às 9h."]
    assert await door.states("turn") == ["sealed"]
    assert await door.states("effect") == ["done"]
    assert len(model.requests) == 3


async def test_a_plain_function_hears_the_last_word(place: Place, model: LoopbackModel) -> None:
    """A correction in the same burst is one answer and one booking."""
    _, door = await serve(place, "clinic_function", model, turns={"debounce_seconds": 0.5})

    await door.say("pode ser sexta", "ah, na verdade sábado")
    await door.reaches("outbound", "sent")

    assert said(place) == ["Marcado para sábado às 10h."]
    assert await door.states("effect") == ["done"]


async def test_a_correction_while_the_clinic_reads_discards_the_reply(
    place: Place, model: LoopbackModel
) -> None:
    """Nothing was written yet: one answer to both, about the day that counts."""
    _, door = await serve(place, "clinic_pydantic_ai", model, turns=PATIENT)
    model.script(ToolCall(name="free_hours", args={"day": "sexta"}))
    model.hold().open()
    reading = model.hold()

    await door.say("pode ser sexta")
    await reading.reached(seconds_max=40)
    model.script("Sábado às 10h está livre.")
    await door.say("ah, na verdade sábado")
    await door.reaches("turn", "discarded", "sealed", seconds_max=40)
    await door.reaches("outbound", "sent")

    assert said(place) == ["Sábado às 10h está livre."]


async def test_a_correction_after_the_booking_comes_after_its_confirmation(
    place: Place, model: LoopbackModel
) -> None:
    """What has happened is told first; then the correction is answered."""
    _, door = await serve(place, "clinic_pydantic_ai", model, turns=PATIENT)
    model.script(ToolCall(name="book", args={"day": "sexta", "hour": "9h"}), "Marcado: sexta às 9h.")
    model.hold().open()
    confirming = model.hold()

    await door.say("pode ser sexta às 9h")
    await confirming.reached(seconds_max=40)
    await door.say("ah, na verdade sábado")
    model.script("Troco para sábado às 10h?")
    confirming.open()
    await door.reaches("outbound", "sent", "sent", seconds_max=40)

    assert said(place) == ["Marcado: sexta às 9h.", "Troco para sábado às 10h?"]
    assert await door.states("effect") == ["done"]


@pytest.mark.parametrize(
    ("first", "second", "script", "states"),
    [
        (
            "Qual o horário de funcionamento?",
            "E vocês aceitam PIX?",
            [
                ToolCall(name="opening_hours"),
                "Das 18h às 23h30.",
                ToolCall(name="payment_methods"),
                "Sim, PIX.",
            ],
            ["sent", "sent"],
        ),
        (
            "Quero cancelar meu pedido",
            "Na verdade não cancela, acabei de receber",
            [ToolCall(name="list_orders"), "Cancelo o pedido 10?", "Que bom que chegou!"],
            ["cancelled", "sent"],
        ),
        (
            "Adiciona uma pizza de calabresa",
            "E uma Coca 2L também",
            [ToolCall(name="list_orders"), "Calabresa no pedido 10?", "Calabresa e Coca no pedido 10?"],
            ["superseded", "sent"],
        ),
    ],
    ids=["release_first", "cancel_first", "merge"],
)
async def test_the_order_service_shows_the_three_decisions(
    first: str,
    second: str,
    script: list[str | ToolCall],
    states: list[str],
    place: Place,
    model: LoopbackModel,
) -> None:
    """A second message over a reply that waits: sent first, cancelled, or answered together."""
    _, door = await serve(place, "order_service_adk", model, outbox={"hold_seconds": 2.0})
    model.script(*script)

    await door.say(first)
    await waits(door)
    await door.say(second)
    await door.reaches("outbound", *states, seconds_max=40)

    spoken = [text for text in script if isinstance(text, str)]
    assert said(place) == (spoken if states[0] == "sent" else spoken[1:])


async def test_the_order_service_parks_what_nobody_decides(place: Place, model: LoopbackModel) -> None:
    """Triage that never answers: the reply is tried, tried again, and parked; it is not sent."""
    (place.folder / "never.py").write_text(NEVER, encoding="utf-8")
    _, door = await serve(
        place, "order_service_adk", model, triage={"use": "never:decide"}, outbox={"hold_seconds": 2.0}
    )
    model.script("Das 18h às 23h30.", "Sim, PIX.")

    await door.say("Qual o horário de funcionamento?")
    await waits(door)
    await door.say("E vocês aceitam PIX?")
    await door.reaches("outbound", "parked", "sent", seconds_max=40)

    assert said(place) == ["Sim, PIX."]


async def test_the_order_service_writes_once(place: Place, model: LoopbackModel) -> None:
    """A plain function is a write tool in a thread, and knows the customer."""
    _, door = await serve(place, "order_service_adk", model, outbox={"hold_seconds": 0.0})
    address = "Rua Nova, 1"
    model.script(
        ToolCall(name="list_orders"),
        ToolCall(name="change_address", args={"order": 10, "address": address}),
        "Vai para a Rua Nova, 1.",
    )

    await door.say("manda pra Rua Nova, 1")
    await door.reaches("outbound", "sent", seconds_max=40)

    [effect] = await door.timeline(kind="effect")
    assert effect["state"] == "done"
    assert f"order 10 goes to {address}".encode() in model.requests[2].body


async def test_the_node_agent_is_signed_and_asks_before_it_books(place: Place, model: LoopbackModel) -> None:
    """The same clinic in another language, over the two calls of the effects API."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port: int = reserved.getsockname()[1]
    server, door = await serve(
        place,
        "clinic_http_node",
        model,
        agent={"use": f"http://127.0.0.1:{port}/", "secret": AGENT_SECRET},
        turns={"debounce_seconds": 0.5},
    )
    environment = {"PORT": str(port), "AGENT_SECRET": AGENT_SECRET, "ONEVOICE_URL": server.url}
    agent = _start_node(node, place.folder / "agent.mjs", environment)
    try:
        assert agent.stdout is not None
        assert "listening" in await asyncio.to_thread(agent.stdout.readline)
        await door.say("pode ser sexta", "ah, na verdade sábado")
        await door.reaches("outbound", "sent", seconds_max=40)
    finally:
        agent.kill()
        agent.communicate()

    assert said(place) == ["Marcado para sábado às 10h."]
    assert await door.states("effect") == ["done"]


def _start_node(node: str, script: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen([node, str(script)], env=environment, stdout=subprocess.PIPE, text=True)


def test_each_example_stands_in_the_documents() -> None:
    """Whoever reads about agents finds every example."""
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")

    assert [name for name in NAMES if f"examples/{name}" not in page] == []
