"""PostgreSQL goes away and comes back: refused with 503 meanwhile, recovered by itself, nothing lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from onevoice.store.embedded import EmbeddedServer
from onevoice.store.embedded.access import choose_system_user
from onevoice.store.embedded.programs import run_program
from onevoice.testing import LoopbackAgent
from tests.process.conftest import Place
from tests.process.door import Door
from tests.process.server import eventually


class PrivateServer:
    """A PostgreSQL of the test's own that it stops and starts as it likes."""

    def __init__(self, folder: Path) -> None:
        self._cluster = folder / "postgres"
        self._server = EmbeddedServer.start(folder)
        self.dsn = self._server.dsn

    def break_off(self) -> None:
        """As a power cut would: no good order, no waiting for anybody."""
        done = run_program(
            "pg_ctl",
            ["stop", "--pgdata", str(self._cluster), "--mode", "immediate", "--wait", "--silent"],
            user=choose_system_user(self._cluster),
        )
        assert done.returncode == 0, done.stderr

    def bring_back(self) -> None:
        self._server.revive()

    def remove(self) -> None:
        self._server.stop()


@pytest.fixture
def private_server() -> Iterator[PrivateServer]:
    folder = Path(tempfile.mkdtemp(prefix="onevoice-server-"))
    server = PrivateServer(folder)
    yield server
    server.remove()
    shutil.rmtree(folder)


@pytest.fixture
async def agent() -> AsyncIterator[LoopbackAgent]:
    async with LoopbackAgent(otherwise={"messages": [{"text": "Certo!"}]}) as agent:
        yield agent


async def is_ready(door: Door) -> bool:
    return (await door.get("/readyz", token=None)).status_code == 200


async def test_a_database_that_is_away_is_503_and_its_return_needs_nobody(
    place: Place, private_server: PrivateServer, agent: LoopbackAgent
) -> None:
    """What was promised before stays, what was refused may come again, and the server is its old self."""
    held = agent.script({"messages": [{"text": "Certo!"}]}, held=True)
    sections = {
        "database": {"url": private_server.dsn},
        "agent": {"use": agent.url},
        "turns": {"lease_seconds": 30.0},
    }
    server, door = await place.serve(sections)
    await door.say("oi")
    await held.reached(seconds_max=15)
    refused = door.message("ainda aí?")

    await asyncio.to_thread(private_server.break_off)
    status = await door.deliver(refused)
    readiness = await door.get("/readyz", token=None)
    api = await door.get("/api/v1/conversations")
    # The agent's answer comes while there is nowhere to keep it.
    held.open()

    assert status == 503
    assert (readiness.status_code, readiness.json()["reason"]) == (503, "database_unavailable")
    assert (api.status_code, api.json()["error"]) == (503, "database_unavailable")
    assert (await door.get("/healthz")).status_code == 200

    await asyncio.to_thread(private_server.bring_back)
    await eventually(lambda: is_ready(door), "the server is ready again")
    await door.reaches("outbound", "sent")
    assert len(agent.requests) == 1
    assert await door.deliver(refused) == 200
    await door.reaches("outbound", "sent", "sent")

    assert await door.states("inbound") == ["answered", "answered"]
    assert [message.text for message in place.graph.messages] == ["Certo!", "Certo!"]
    assert server.process.poll() is None


async def test_a_killed_backend_is_no_outage(place: Place, private_server: PrivateServer) -> None:
    """Every connection cut at once: the next webhook is stored over a new one."""
    _, door = await place.serve({"database": {"url": private_server.dsn}})
    await door.say("oi")
    await door.reaches("outbound", "sent")
    connection = await asyncpg.connect(private_server.dsn)
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'onevoice'"
    )
    await connection.close()

    async def taken() -> bool:
        return await door.deliver(door.message("ainda aí?")) == 200

    await eventually(taken, "a webhook is taken again")
    await door.reaches("outbound", "sent", "sent")


async def test_a_killed_embedded_server_comes_back_by_itself(embedded_place: Place) -> None:
    """Out of memory, the kernel ends PostgreSQL: onevoice starts it again and loses nothing."""
    server, door = await embedded_place.serve({"turns": {"debounce_seconds": 3.0}})
    await door.say("oi")
    pid_file = embedded_place.folder / ".onevoice" / "postgres" / "postmaster.pid"
    postmaster = int(pid_file.read_text().splitlines()[0])

    os.kill(postmaster, signal.SIGKILL)

    async def came_back() -> bool:
        return pid_file.exists() and int(pid_file.read_text().splitlines()[0]) != postmaster

    await eventually(came_back, "the embedded server runs again")
    await eventually(lambda: is_ready(door), "the server is ready again")
    await door.say("queria marcar")
    await door.reaches("inbound", "answered", "answered")

    async def all_said() -> bool:
        # In one answer, or in two when the outage took longer than the window.
        return "\n".join(message.text for message in embedded_place.graph.messages) == "oi\nqueria marcar"

    await eventually(all_said, "both messages are answered, each once")
    server.terminate()
    assert await server.ended() == 0
    assert not pid_file.exists()
