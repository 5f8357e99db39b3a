"""The other commands beside a running server on the same data_dir, and what serve says when it cannot start."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.command import Finished, run_command
from tests.process.conftest import Place
from tests.process.server import PLANTED, Server, configure


async def command(place: Place, *arguments: str) -> Finished:
    return await asyncio.to_thread(run_command, place.folder, *arguments)


async def test_commands_attach_to_the_running_server_and_leave_it_running(embedded_place: Place) -> None:
    """Migrate, doctor and backup work beside it; restore refuses; the server does not notice."""
    place = embedded_place
    server, door = await place.serve({})
    await door.say("oi")
    await door.reaches("outbound", "sent")

    migrated = await command(place, "migrate")
    examined = await command(place, "doctor")
    saved = await command(place, "backup", "copy.tar")
    refused = await command(place, "restore", "copy.tar", "--force")

    assert (migrated.status, migrated.out) == (0, "nothing to do: the schema is up to date\n")
    assert "ok       migrations" in examined.out, examined.out
    assert saved.status == 0, saved.err
    assert refused.status == 1
    [line] = refused.lines
    assert "stop it first" in line
    assert server.process.poll() is None
    await door.say("ainda aí?")
    await door.reaches("outbound", "sent", "sent")

    server.terminate()
    assert await server.ended() == 0
    restored = await command(place, "restore", "copy.tar", "--force")
    assert restored.status == 0, restored.err
    _, door = await place.serve()
    # The copy was made after the first answer and before the second question.
    assert await door.states("inbound") == ["answered"]
    assert await door.states("outbound") == ["sent"]


async def test_a_second_server_on_the_same_folder_shares_the_database(embedded_place: Place) -> None:
    """Two processes, one data_dir: both serve, and the last one out stops PostgreSQL."""
    first, one = await embedded_place.serve({})
    second, other = await embedded_place.serve()
    await one.say("oi")
    await other.reaches("outbound", "sent")

    first.terminate()
    assert await first.ended() == 0
    await other.say("ainda aí?")
    await other.reaches("outbound", "sent", "sent")
    second.terminate()
    assert await second.ended() == 0

    assert not (embedded_place.folder / ".onevoice" / "postgres" / "postmaster.pid").exists()


async def test_what_serve_prints_holds_no_secret_and_stdout_one_word(place: Place) -> None:
    """Stdout is `ready`; stderr says in key=value lines what happens, without texts, numbers and tokens."""
    server, door = await place.serve({})
    text = "planted words of a customer"
    await door.say(text)
    await door.reaches("outbound", "sent")
    await door.post(b"{", signature="sha256=00")
    await door.get("/api/v1/conversations", token="guess")
    server.terminate()
    assert await server.ended() == 0

    assert server.out == "ready\n"
    first, *lines = server.err.splitlines()
    assert first.startswith("onevoice listens on http://127.0.0.1:")
    assert all(line.startswith("time=") for line in lines), server.err
    assert "%" not in server.err
    for secret in (*PLANTED, text, "5511999990000"):
        assert secret not in server.err


@pytest.fixture
async def taken_port() -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


async def test_serve_says_in_a_sentence_why_it_cannot_start(place: Place, taken_port: int) -> None:
    """A used port ends with 1, a bad configuration with 2, before a database is touched."""
    used = await ended(place.folder, {"database": {"url": place.dsn}}, "--port", str(taken_port))
    bad = await ended(place.folder, {"turns": {"lease_seconds": 0.1, "debounce_second": 1.0}})
    away = await ended(place.folder, {"database": {"url": "postgresql://who:planted-pass@127.0.0.1:1/x"}})

    assert used == (
        1,
        [
            f"port {taken_port} of 127.0.0.1 is in use by another process; stop it, or choose another with --port"
        ],
    )
    status, lines = bad
    assert status == 2
    assert {line.partition(": ")[0] for line in lines} == {"turns.debounce_second", "turns.lease_seconds"}
    status, lines = away
    assert status == 1
    [line] = [line for line in lines if not line.startswith("time=")]
    assert "127.0.0.1:1/x" in line
    assert "planted-pass" not in "".join(lines)


async def ended(
    folder: Path, sections: dict[str, dict[str, object]], *arguments: str
) -> tuple[int, list[str]]:
    """Launch a server that does not become ready; its status and the lines it said."""
    configuration = configure(folder, graph_url="http://127.0.0.1:9/v23.0", sections=sections)
    server = Server.launch(configuration, number=9, arguments=arguments or ("--port", "0"))
    try:
        status = await server.ended(seconds_max=40)
        assert server.out == ""
        return status, server.err.splitlines()
    finally:
        server.put_down()
