"""Runs `python -m onevoice serve` as a user would, in a folder of its own, and ends it by its process id.

The processes live in real time: a test waits for a named signal of a double, or looks at the API again and
again through ``eventually``, always within a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.architecture.project import ROOT
from tests.wire.whatsapp.wire import ROUTE, SECRET

Found = TypeVar("Found")

API_TOKEN = "api-token-planted-c0ffee"
ACCESS_TOKEN = "access-token-planted-c0ffee"
VERIFY_TOKEN = "verify-token-planted-c0ffee"
AGENT_SECRET = "agent-secret-planted-c0ffee"
PLANTED = (API_TOKEN, ACCESS_TOKEN, VERIFY_TOKEN, AGENT_SECRET, SECRET)
READY_SECONDS_MAX = 40.0
END_SECONDS_MAX = 25.0
PAUSE_SECONDS = 0.02
PAUSE_SECONDS_MAX = 0.2

Sections = Mapping[str, Mapping[str, object]]

# Short enough for a test, long enough that a busy machine does not end a burst early.
QUICK: Sections = {
    "server": {"drain_seconds": 10.0},
    "turns": {"debounce_seconds": 0.4, "max_wait_seconds": 5.0, "lease_seconds": 1.5},
    "outbox": {"part_interval_seconds": 0.0, "send_timeout_seconds": 5.0},
    "agent": {"use": "builtin:echo"},
}


def configure(folder: Path, *, graph_url: str, sections: Sections, channels: int = 1) -> Path:
    """Write an onevoice.toml with WhatsApp channels; ``sections`` override ``QUICK`` key by key."""
    lines: list[str] = []
    for name in sorted({*QUICK, *sections}):
        keys = {**QUICK.get(name, {}), **sections.get(name, {})}
        # JSON's strings, numbers, truths and flat lists are TOML's too.
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    for number in range(channels):
        channel = {
            "name": "loja" if number == 0 else f"loja{number + 1}",
            "kind": "whatsapp",
            "phone_number_id": str(int(ROUTE) + number),
            "access_token": ACCESS_TOKEN,
            "app_secret": SECRET,
            "verify_token": VERIFY_TOKEN,
            "graph_url": graph_url,
        }
        lines += ["[[channels]]", *(f"{key} = {json.dumps(value)}" for key, value in channel.items())]
    file = folder / "onevoice.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


async def pause(seconds: float) -> None:
    """Let a moment of real time pass: what is waited for happens in another process."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


async def eventually(look: Callable[[], Awaitable[Found]], what: str, *, seconds_max: float = 20.0) -> Found:
    """Look until what is found is true, and return it; fails with ``what`` after so many seconds."""
    until = asyncio.get_running_loop().time() + seconds_max
    wait = PAUSE_SECONDS
    while True:
        found = await look()
        if found:
            return found
        if asyncio.get_running_loop().time() > until:
            raise AssertionError(f"not within {seconds_max:g} s: {what}; last seen: {found!r}")
        await pause(wait)
        # Looking costs the server time that it needs for what is waited for.
        wait = min(2 * wait, PAUSE_SECONDS_MAX)


class Server:
    """One process. Its output goes to files, so that it never waits for its reader."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err

    @classmethod
    def launch(
        cls,
        configuration: Path,
        *,
        number: int = 1,
        arguments: Sequence[str] = ("--port", "0"),
        environment: Mapping[str, str] | None = None,
    ) -> Server:
        """Start it; ``wait_until_ready`` says when it takes traffic. ``environment`` is added to a bare one."""
        folder = configuration.parent
        out, err = folder / f"stdout-{number}", folder / f"stderr-{number}"
        with out.open("wb") as out_stream, err.open("wb") as err_stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "onevoice", "serve", "--config", str(configuration), *arguments],
                cwd=folder,
                env={
                    "PYTHONPATH": str(ROOT / "src"),
                    "PATH": "/usr/bin:/bin",
                    "ONEVOICE_API_TOKEN": API_TOKEN,
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=out_stream,
                stderr=err_stream,
            )
        return cls(process, out, err)

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    @property
    def is_ready(self) -> bool:
        return self.out == "ready\n"

    @property
    def url(self) -> str:
        """Where it listens, as it says on stderr."""
        [line] = [line for line in self.err.splitlines() if line.startswith("onevoice listens on ")]
        return line.removeprefix("onevoice listens on ")

    async def wait_until_ready(self) -> str:
        async def look() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"serve ended with {self.process.returncode}: {self.err}")
            return self.is_ready

        await eventually(look, "serve is ready", seconds_max=READY_SECONDS_MAX)
        return self.url

    def wait_until_ready_outside(self) -> str:
        """The same where no event loop runs."""
        for _ in range(int(READY_SECONDS_MAX / PAUSE_SECONDS)):
            if self.is_ready:
                return self.url
            if self.process.poll() is not None:
                break
            threading.Event().wait(PAUSE_SECONDS)
        raise AssertionError(f"serve did not become ready: {self.err}")

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()

    async def ended(self, *, seconds_max: float = END_SECONDS_MAX) -> int:
        """Wait for its end; returns the exit status."""

        async def look() -> bool:
            return self.process.poll() is not None

        await eventually(look, "serve ends", seconds_max=seconds_max)
        return int(self.process.returncode)

    async def killed(self) -> None:
        self.kill()
        await self.ended()

    def put_down(self) -> None:
        """End it whatever it is doing, and look at what it wrote."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        # Shown by pytest with a failed test only.
        print(self.err)  # noqa: T201
        assert self.out in ("", "ready\n"), f"stdout holds more than the one word: {self.out!r}"
        assert "Traceback" not in self.err, self.err
        for secret in PLANTED:
            assert secret not in self.err, "a secret stands on stderr"


def now_seconds() -> int:
    """The wall clock, which the server under test reads as well."""
    return int(time.time())  # noqa: TID251


Json = dict[str, Any]
