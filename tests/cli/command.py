"""Runs `python -m onevoice …` as a user would, in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.project import ROOT

PLANTED = "planted-secret-c0ffee"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.err.splitlines()


def run_command(
    folder: Path, *arguments: str, environ: Mapping[str, str] | None = None, seconds_max: float = 50
) -> Finished:
    """Run it to its end, without the caller's environment; it must show no planted secret."""
    done = subprocess.run(
        [sys.executable, "-m", "onevoice", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds_max,
    )
    assert PLANTED not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return Finished(status=done.returncode, out=done.stdout, err=done.stderr)
