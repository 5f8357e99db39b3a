"""A server process of simulate's own: `onevoice serve` in a temporary folder, with its own embedded database."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from onevoice.errors import SimulationFailed
from onevoice.ports.clock import Clock

Sections = Mapping[str, Mapping[str, object]]

READY_SECONDS_MAX = 60.0
END_SECONDS_MAX = 15.0
_PAUSE_SECONDS = 0.02
_LISTENS = "onevoice listens on "


class ServerProcess:
    """Started, killed and started again on the same data; ``stop`` leaves nothing running."""

    def __init__(
        self,
        folder: Path,
        *,
        sections: Sections,
        channel: Mapping[str, object],
        imports_from: Path | None,
        token: str,
        clock: Clock,
    ) -> None:
        self.url = ""
        self._folder = folder
        self._imports_from = imports_from
        self._token = token
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._start_count = 0
        self.configuration = folder / "onevoice.toml"
        self.configuration.write_text(_as_toml(sections, channel), encoding="utf-8")

    async def start(self) -> None:
        """Start it and wait until it takes traffic."""
        process = self._launch()
        until = self._clock.monotonic() + READY_SECONDS_MAX
        while "ready" not in self._read("out"):
            if process.poll() is not None:
                raise SimulationFailed(f"the server did not start: {self._last_words()}")
            if self._clock.monotonic() > until:
                raise SimulationFailed(
                    f"the server was not ready within {READY_SECONDS_MAX:g} s; is the machine busy? try again"
                )
            await self._clock.sleep(_PAUSE_SECONDS)
        [line] = [line for line in self._read("err").splitlines() if line.startswith(_LISTENS)]
        self.url = line.removeprefix(_LISTENS)

    def _launch(self) -> subprocess.Popen[bytes]:
        self._start_count += 1
        command = [sys.executable, "-m", "onevoice", "serve", "--port", "0"]
        with self._file("out").open("wb") as out, self._file("err").open("wb") as err:
            self._process = subprocess.Popen(  # noqa: S603 - This interpreter, arguments of our own.
                [*command, "--config", str(self.configuration)],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # Ctrl-C in the terminal reaches simulate alone, which then ends its servers itself.
                start_new_session=True,
            )
        return self._process

    def kill(self) -> None:
        """End it in the middle of whatever it does, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def stop(self) -> None:
        """Let it drain; one that does not end in time is killed."""
        if self._process is None:
            return
        self._process.terminate()
        until = self._clock.monotonic() + END_SECONDS_MAX
        try:
            while self._process.poll() is None and self._clock.monotonic() < until:
                await self._clock.sleep(_PAUSE_SECONDS)
        finally:
            self.kill()

    def _environment(self) -> dict[str, str]:
        """What this process was started with, without the user's settings: they belong to another server."""
        inherited = os.environ  # noqa: TID251 - Handed on, not read.
        kept = {name: value for name, value in inherited.items() if not name.startswith("ONEVOICE_")}
        if self._imports_from is not None:
            paths = [str(self._imports_from.resolve()), *filter(None, [kept.get("PYTHONPATH")])]
            kept["PYTHONPATH"] = os.pathsep.join(paths)
        return {**kept, "ONEVOICE_API_TOKEN": self._token}

    def _file(self, stream: str) -> Path:
        return self._folder / f"server-{self._start_count}.{stream}"

    def _read(self, stream: str) -> str:
        with contextlib.suppress(FileNotFoundError):
            return self._file(stream).read_text(encoding="utf-8", errors="replace")
        return ""

    def _last_words(self) -> str:
        lines = [line for line in self._read("err").splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"


def _as_toml(sections: Sections, channel: Mapping[str, object]) -> str:
    # JSON's strings, numbers, truths and flat lists are TOML's too.
    lines: list[str] = []
    for name, keys in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    lines += ["[[channels]]", *(f"{key} = {json.dumps(value)}" for key, value in channel.items())]
    return "\n".join(lines) + "\n"
