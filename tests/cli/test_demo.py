"""`onevoice demo`: what it says, that it starts again, and that Ctrl-C ends it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onevoice.entrypoints.demo_opening import opening
from tests.architecture.project import ROOT
from tests.cli.command import run_command


def _run_until_ready(folder: Path, number: signal.Signals) -> str:
    """Start it, wait for `ready`, end it by a signal; returns what it printed."""
    out, err = folder / "out", folder / "err"
    with out.open("wb") as out_stream, err.open("wb") as err_stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "onevoice", "demo", "--port", "0"],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=out_stream,
            stderr=err_stream,
        )
    try:
        for _ in range(2000):
            if out.read_text().endswith("ready\n") or process.poll() is not None:
                break
            threading.Event().wait(0.02)
        process.send_signal(number)
        assert process.wait(timeout=30) == 0, err.read_text()
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in err.read_text()
    return out.read_text()


def test_the_opening_says_where_to_go_and_what_to_try() -> None:
    """Addresses and login first, then three things to try, then where to look; no line is wider than a terminal."""
    text = opening(
        "http://127.0.0.1:8080", chats=["demo"], login="name demo, password x", data_dir=".onevoice"
    )

    assert "http://127.0.0.1:8080/chat/demo\n" in text
    assert "http://127.0.0.1:8080/console\n" in text
    assert "name demo, password x\n" in text
    assert re.findall(r"^  (\d)\.", text, re.MULTILINE) == ["1", "2", "3"]
    for wanted in ("oi / queria marcar / pra sexta", "na verdade sábado", "quero falar com uma pessoa"):
        assert wanted in text
    assert "Ctrl-C" in text.splitlines()[-1]
    assert max(map(len, text.splitlines())) <= 100


def test_a_chat_page_is_named_for_each_webchat() -> None:
    """With --config there may be several, or none."""
    several = opening("http://h", chats=["a", "b"], login="x", data_dir="d")
    none = opening("http://h", chats=[], login="x", data_dir="d")

    assert re.findall(r"/chat/\w+", several) == ["/chat/a", "/chat/b"]
    assert "/chat/" not in none


@pytest.mark.slow
def test_it_runs_twice_in_a_row_with_the_same_login(tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM end it with 0 and without a trace; the data and the password are still there."""
    first = _run_until_ready(tmp_path, signal.SIGINT)
    second = _run_until_ready(tmp_path, signal.SIGTERM)

    logins = [re.findall(r"password (\S+)", text) for text in (first, second)]
    assert logins[0] == logins[1]
    assert len(logins[0]) == 1
    assert first.splitlines()[-1] == second.splitlines()[-1] == "ready"


@pytest.mark.parametrize("place", ["taken/below", "/proc/onevoice"])
def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path, place: str) -> None:
    """It names the folder and what to do."""
    (tmp_path / "taken").write_text("")

    finished = run_command(tmp_path, "demo", "--port", "0", environ={"ONEVOICE_DATABASE__DATA_DIR": place})

    assert (finished.status, finished.out) == (1, "")
    (line,) = finished.lines
    assert place in line
    assert line.endswith("choose a folder that this user may write")
