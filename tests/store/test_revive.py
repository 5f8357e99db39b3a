"""An embedded server that was killed starts again at the same address, with everything it had committed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import asyncpg
import pytest

from onevoice.store.embedded import EmbeddedServer
from tests.postgres import run
from tests.store.embedded_process import lives

pytestmark = pytest.mark.timeout(120)


def _kill(data_dir: Path) -> None:
    """SIGKILL to the postmaster; its children follow by themselves."""
    os.kill(int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)


async def _note(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    await connection.execute("create table if not exists note (id integer)")
    await connection.execute("insert into note values (1)")
    count: int = await connection.fetchval("select count(*) from note")
    await connection.close()
    return count


def _revive(server: EmbeddedServer) -> None:
    """Its last process may take a moment to end."""
    assert any(server.revive() for _ in range(5000)), "no process of the server ended"


@pytest.mark.parametrize("name", ["data", "a long name " * 12], ids=["plain", "socket elsewhere"])
def test_a_killed_server_runs_again_at_its_address(tmp_path: Path, name: str) -> None:
    """Whoever knows the address connects again; what was committed is there; the last out still stops it."""
    data_dir = tmp_path / name
    server, other = EmbeddedServer.start(data_dir), EmbeddedServer.start(data_dir)
    assert run(_note(server.dsn)) == 1
    assert not server.revive(), "it runs"

    _kill(data_dir)
    _revive(server)

    assert not other.revive(), "it runs again already"
    assert run(_note(other.dsn)) == 2
    server.stop()
    assert run(_note(other.dsn)) == 3
    other.stop()
    assert not lives(data_dir)
    assert not other.revive(), "nobody starts it again for a user that has left"
    assert not lives(data_dir)
