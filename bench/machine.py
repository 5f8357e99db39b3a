"""The system under measurement: a folder, an embedded PostgreSQL, an instant channel and `serve` processes."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from bench.load import ROUTE, SECRET
from onevoice.store.embedded import EmbeddedServer

ROOT = Path(__file__).resolve().parents[1]
API_TOKEN = "bench"  # noqa: S105 - Of a server on loopback.


class Machine:
    """Everything that runs, started together and stopped together."""

    def __init__(self, place: Path | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="onevoice-bench-", dir=place))
        self._data_dir = self.folder / "data"
        self._channel: subprocess.Popen[str] | None = None
        self._channel_port = 0
        self._serve: subprocess.Popen[str] | None = None
        self.dsn = ""
        self._server: EmbeddedServer | None = None

    def __enter__(self) -> Self:
        self._server = EmbeddedServer.start(self._data_dir)
        self.dsn = self._server.dsn
        self._channel = subprocess.Popen(  # noqa: S603 - Our own file.
            [sys.executable, str(ROOT / "bench" / "instant_channel.py")], stdout=subprocess.PIPE, text=True
        )
        assert self._channel.stdout is not None
        self._channel_port = int(self._channel.stdout.readline())
        shutil.copy(ROOT / "bench" / "instant_agent.py", self.folder / "instant_agent.py")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_serve()
        if self._channel is not None:
            self._channel.kill()
            self._channel.wait()
            assert self._channel.stdout is not None
            self._channel.stdout.close()
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.folder)

    def start_serve(self, **turns: float) -> str:
        """Start `serve` with these turn settings, on the rows that are there; returns its URL."""
        self.stop_serve()
        keys: Mapping[str, Mapping[str, object]] = {
            "database": {"data_dir": str(self._data_dir)},
            "turns": {"max_wait_seconds": 60.0, **turns},
            "outbox": {"part_interval_seconds": 0.0},
            "agent": {"use": "instant_agent:agent"},
        }
        lines: list[str] = []
        for name, values in keys.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        lines += ["[[channels]]", 'name = "loja"', 'kind = "whatsapp"', f'phone_number_id = "{ROUTE}"']
        lines += [f'app_secret = "{SECRET}"', 'access_token = "bench"', 'verify_token = "bench"']
        lines += [f'graph_url = "http://127.0.0.1:{self._channel_port}/v23.0"']
        configuration = self.folder / "onevoice.toml"
        configuration.write_text("\n".join(lines), encoding="utf-8")
        self.calls_file.write_text("")
        errors = self.folder / "stderr"
        with errors.open("w") as stream:
            self._serve = subprocess.Popen(  # noqa: S603 - Our own command.
                [sys.executable, "-m", "onevoice", "serve", "--config", str(configuration), "--port", "0"],
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                env={
                    "PYTHONPATH": str(ROOT / "src"),
                    "PATH": "/usr/bin:/bin",
                    "ONEVOICE_API_TOKEN": API_TOKEN,
                },
            )
        assert self._serve.stdout is not None
        if self._serve.stdout.readline() != "ready\n":
            raise RuntimeError(f"serve did not start: {errors.read_text()}")
        return errors.read_text().partition("listens on ")[2].split()[0]

    def stop_serve(self) -> None:
        if self._serve is not None:
            self._serve.terminate()
            self._serve.wait()
            assert self._serve.stdout is not None
            self._serve.stdout.close()
            self._serve = None

    @property
    def calls_file(self) -> Path:
        return self.folder / "calls"

    def calls(self) -> list[tuple[str, float, int]]:
        """Turn, moment and number of messages of every agent call since `serve` started."""
        rows = (line.split() for line in self.calls_file.read_text().splitlines())
        return [(turn, float(moment), int(messages)) for turn, moment, messages in rows]

    @property
    def serve_pid(self) -> int:
        assert self._serve is not None
        return self._serve.pid

    def memory_megabytes(self) -> float:
        """What `serve` holds in memory; NaN where the kernel does not tell."""
        status = Path(f"/proc/{self.serve_pid}/status")
        if not status.exists():
            return float("nan")
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def sent(self) -> tuple[int, int]:
        """Messages the channel took, and how many of them were different."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._channel_port}/count") as answer:
            counts: dict[str, int] = json.load(answer)
        return counts["taken"], counts["different"]

    def fetch(self, statement: str, *args: object) -> list[Any]:
        """Rows of the database, as its owner."""

        async def run() -> list[Any]:
            connection = await asyncpg.connect(self.dsn)
            try:
                return await connection.fetch(statement, *args)
            finally:
                await connection.close()

        return asyncio.run(run())

    def wait_until_quiet(self, *, seconds_max: float = 60.0) -> bool:
        """Wait until nothing is open, running or on its way; false when that does not come."""
        for _ in range(int(seconds_max / 0.1)):
            if not self.fetch(_UNFINISHED)[0]["count"]:
                return True
            threading.Event().wait(0.1)
        return False

    def clear(self) -> None:
        """Delete what earlier measurements left."""
        self.fetch("truncate conversation, inbound_message, outbound_message, turn, journal cascade")


_UNFINISHED = """
select (select count(*) from inbound_message where state in ('open', 'claimed'))
    + (select count(*) from outbound_message where state in ('due', 'sending')) as count
"""


def pgbench(arguments: Sequence[str]) -> str:
    """Run the wheel's pgbench; returns what it printed."""
    from onevoice.store.embedded.programs import run_program

    done = run_program("pgbench", arguments, user=None)
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed: {done.stderr}")
    return done.stdout
