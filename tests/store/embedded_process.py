"""Another process that uses an embedded server, and what is seen of the server from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg

import onevoice
from onevoice.store.embedded.locks import FileLock
from tests.postgres import run

_SCRIPT = Path(__file__).with_name("embedded_user.py")
_PYTHONPATH = os.pathsep.join(str(Path(module.__path__[0]).parent) for module in (onevoice, asyncpg))
NOBODY = 65534
AS_ROOT = os.geteuid() == 0
ENDS_SECONDS_MAX = 30


class User:
    """Another process that uses the server."""

    def __init__(self, data_dir: Path, *, uid: int | None = None, interpreter: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [interpreter, str(_SCRIPT), str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={"PYTHONPATH": _PYTHONPATH, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            user=uid,
            group=uid,
            extra_groups=[] if uid else None,
            start_new_session=True,
        )

    def wait_ready(self) -> str:
        return self._answer()

    def tell(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        return self._answer()

    def interrupt(self) -> None:
        """As Ctrl-C in a terminal: the whole group of processes gets it."""
        os.killpg(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def ends(data_dir: Path) -> bool:
    """Whether the server's last process ends within the time a slow machine needs."""
    with FileLock(data_dir / "postgres.server.lock") as server:
        return server.wait_exclusive(seconds_max=ENDS_SECONDS_MAX)


def lives(data_dir: Path) -> bool:
    with FileLock(data_dir / "postgres.server.lock") as server:
        # A keeper looks at the lock for an instant when it ends.
        return not server.wait_exclusive(seconds_max=1)


def ask(dsn: str) -> object:
    async def act() -> object:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval("select 'alive'")
        finally:
            await connection.close()

    return run(act())
