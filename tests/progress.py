"""How far the long proof is: each process counts in a file of its own, and one line on stderr adds them up."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

# What the long proof is to reach; `make prove` ends later or earlier than this only by what its searches exhaust.
GOALS = {"schedules": 500_000, "faults": 1_000, "messages": 100_000, "inputs": 2_000_000}
IS_LONG = os.environ.get("ONEVOICE_PROVE") == "1"  # noqa: TID251  # Chooses the proof's length, no setting.
_FOLDER = "ONEVOICE_PROVE_PROGRESS"
_WRITE_EVERY = 50
_LOOK_SECONDS = 2.0
_LINE_SECONDS = 60.0
_WIDTH = 30

_done: Counter[str] = Counter()
_unwritten = 0


def tick(what: str, count: int = 1) -> None:
    """So much more of one goal is done."""
    global _unwritten  # One process, one file.
    if not IS_LONG:
        return
    _done[what] += count
    _unwritten += 1
    folder = os.environ.get(_FOLDER)  # noqa: TID251  # Told by the process that shows it.
    if folder and (_unwritten >= _WRITE_EVERY or what == "faults"):
        _unwritten = 0
        file = Path(folder) / str(os.getpid())
        file.with_suffix(".new").write_text(
            " ".join(f"{name}={number}" for name, number in _done.items()), encoding="utf-8"
        )
        file.with_suffix(".new").replace(file)


def read(folder: Path) -> Counter[str]:
    """All processes' counts."""
    total: Counter[str] = Counter()
    for file in folder.iterdir():
        if file.suffix:
            continue
        for pair in file.read_text(encoding="utf-8").split():
            name, _, number = pair.partition("=")
            total[name] += int(number)
    return total


def draw(done: Mapping[str, int], seconds: float) -> str:
    """One line: a bar over all goals, each goal's own count, and the time so far."""
    shares = [min(1.0, done.get(name, 0) / goal) for name, goal in GOALS.items()]
    share = sum(shares) / len(shares)
    bar = "#" * int(_WIDTH * share)
    counts = "  ".join(f"{name} {done.get(name, 0):,}/{goal:,}" for name, goal in GOALS.items())
    minutes = int(seconds) // 60
    return f"[{bar:{_WIDTH}}] {share:4.0%}  {counts}  {minutes // 60}:{minutes % 60:02}"


class Bar:
    """Shows it, until it is told to stop."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="onevoice-progress-"))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def start(self) -> None:
        os.environ[_FOLDER] = str(self.folder)  # noqa: TID251  # The processes of pytest-xdist inherit it.
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        shutil.rmtree(self.folder)

    def _show(self) -> None:
        started = time.monotonic()  # noqa: TID251  # Real time is what is shown.
        is_terminal = sys.stderr.isatty()
        while not self._stop.wait(_LOOK_SECONDS if is_terminal else _LINE_SECONDS):
            line = draw(read(self.folder), time.monotonic() - started)  # noqa: TID251
            sys.stderr.write(f"\r{line}" if is_terminal else f"{line}\n")
            sys.stderr.flush()
        sys.stderr.write("\n")


_bar_key = pytest.StashKey[Bar]()


def pytest_configure(config: pytest.Config) -> None:
    if IS_LONG and not hasattr(config, "workerinput"):
        config.stash[_bar_key] = Bar()
        config.stash[_bar_key].start()


def pytest_unconfigure(config: pytest.Config) -> None:
    bar = config.stash.get(_bar_key, None)
    if bar is not None:
        bar.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """A bar and dots on one line would be neither."""
    return ("passed", "", "") if IS_LONG and report.passed and report.when == "call" else None
