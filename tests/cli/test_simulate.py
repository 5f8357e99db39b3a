"""What `onevoice simulate` shows, and that it notices a server that misbehaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onevoice.entrypoints.simulate.scenarios import SCENARIOS
from tests.architecture.project import ROOT
from tests.cli.command import Finished, run_command

_SABOTAGE = Path(__file__).parent / "sabotage"
_ALL = [
    "release_first",
    "cancel_first",
    "merge",
    "parked",
    "burst",
    "never_stops",
    "audio",
    "correction",
    "correction_after_write",
    "takeover_during_generation",
    "takeover_during_send",
    "two_operators",
    "duplicate_webhook",
    "return_to_ai",
    "restart",
]


def simulate(folder: Path, *arguments: str, sabotage: str = "") -> Finished:
    """Run it with a temporary folder of the test's own, and see that it leaves nothing there."""
    temporary = folder / "tmp"
    temporary.mkdir()
    path = os.pathsep.join(
        [str(_SABOTAGE / sabotage), str(ROOT / "src")] if sabotage else [str(ROOT / "src")]
    )
    finished = run_command(
        folder,
        "simulate",
        *arguments,
        environ={"TMPDIR": str(temporary), "PYTHONPATH": path},
        seconds_max=170,
    )
    # The last database's keeper tidies up a moment after its last user has ended.
    assert _soon(lambda: list(temporary.iterdir()) == [])
    return finished


def result(finished: Finished) -> dict[str, Any]:
    return json.loads(finished.out)


def test_the_list_names_each_scenario_in_one_line(tmp_path: Path) -> None:
    """Name first, then what it must show."""
    finished = run_command(tmp_path, "simulate", "--list")

    assert finished.status == 0
    assert [line.split()[0] for line in finished.out.splitlines()] == _ALL
    assert list(SCENARIOS) == _ALL


def test_an_unknown_name_ends_with_2_and_names_the_nearest(tmp_path: Path) -> None:
    """All of them at once, before anything is started."""
    finished = run_command(tmp_path, "simulate", "burts", "burst", "nothing-like-it")

    assert finished.status == 2
    assert finished.lines == [
        "no scenario is named burts; did you mean burst?",
        "no scenario is named nothing-like-it; `onevoice simulate --list` names them all",
    ]


def test_a_configuration_in_the_working_directory_is_not_read(tmp_path: Path) -> None:
    """It needs none: a broken file of the user's does not matter to it."""
    (tmp_path / "onevoice.toml").write_text("[turn]\n")

    assert run_command(tmp_path, "simulate", "--list").status == 0
    assert run_command(tmp_path, "simulate", "burts").lines[0].startswith("no scenario")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_scenario_shows_what_it_must(tmp_path: Path) -> None:
    """All of them, with the case study's figures beside the times, in a minute and a half."""
    finished = simulate(tmp_path, "--json")

    whole = result(finished)
    assert [(one["name"], one["differences"]) for one in whole["scenarios"]] == [(name, []) for name in _ALL]
    assert (finished.status, whole["ok"]) == (0, True)
    assert whole["seconds"] <= 90
    for one in whole["scenarios"]:
        assert one["expectations"]
        times = [moment["ms"] for moment in one["timeline"]]
        assert times == sorted(times)
        assert times[0] == 0
        assert all(moment["who"] and moment["what"] for moment in one["timeline"])
    published = {
        one["name"]: [time["published_ms"] for time in one["times"] if time["published_ms"]]
        for one in whole["scenarios"]
    }
    assert published["release_first"] == [606, 891]
    assert published["cancel_first"] == [892]
    assert published["merge"] == [893]
    assert published["parked"] == [600, 900, 1510, 2710]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("sabotage", "scenario", "found"),
    [
        ("no_window", "burst", "agent calls: 1; found: 4"),
        ("no_dedupe", "duplicate_webhook", "messages stored: 1; found: 50"),
        ("wrong_decider", "cancel_first", "triage: cancel_first; found: merge"),
        ("no_patience", "audio", "nobody answers before the words are there; found: 1 calls"),
        ("sends_twice", "restart", "feriado abrimos das 10h às 14h.”, then “No feriado"),
    ],
)
def test_a_server_that_misbehaves_is_noticed(
    tmp_path: Path, sabotage: str, scenario: str, found: str
) -> None:
    """The started process is spoiled on purpose; the scenario differs, says why, and the status is 1."""
    finished = simulate(tmp_path, scenario, "--json", sabotage=sabotage)

    (one,) = result(finished)["scenarios"]
    assert finished.status == 1
    assert one["ok"] is False
    assert any(found in difference for difference in one["differences"]), one["differences"]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_decider_of_one_s_own_is_put_to_the_test(tmp_path: Path) -> None:
    """With --config, the [triage] there decides over the case study, imported from beside the file."""
    (tmp_path / "mine.py").write_text('async def decide(request):\n    return "merge"\n')
    (tmp_path / "own.toml").write_text('[triage]\nuse = "mine:decide"\n')

    finished = simulate(tmp_path, "--config", "own.toml", "cancel_first", "merge", "--json")

    cancel_first, merge = result(finished)["scenarios"]
    assert finished.status == 1
    assert merge["differences"] == []
    assert "triage: cancel_first; found: merge" in cancel_first["differences"]
    assert any(moment["why"] == "decided by mine:decide" for moment in merge["timeline"])


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_person_sees_a_timeline_and_a_verdict(tmp_path: Path) -> None:
    """Without --json: who, what, when and why, the figures side by side, then the verdict."""
    finished = simulate(tmp_path, "cancel_first")

    assert finished.status == 0
    shown = " ".join(finished.out.split())
    assert "decided by rules" in shown
    assert "892 ms" in shown
    assert "as it must be: the customer receives “Combinado, o pedido fica como está.”" in shown
    assert "1 of 1 as they must be" in shown
    assert finished.lines[0] == "starting a server for cancel_first"


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("number", "file"),
    [
        (signal.SIGINT, "server-1.out"),
        (signal.SIGTERM, "server-1.out"),
        # In the middle of its server's start: its database's files are being made.
        (signal.SIGINT, "data/postgres.start.lock"),
        (signal.SIGINT, "data/postgres.new-*/PG_VERSION"),
    ],
)
def test_an_interrupt_ends_what_it_started(tmp_path: Path, number: signal.Signals, file: str) -> None:
    """One sentence, status 130, no server and no folder left, whenever it comes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "onevoice", "simulate", "never_stops"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    began = _soon(lambda: _exists(tmp_path, file) or process.poll() is not None)
    process.send_signal(number)
    out, err = process.communicate(timeout=40)

    assert began, err
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines() == ["starting a server for never_stops", "stopped; its servers have ended"]
    assert _soon(lambda: list(tmp_path.iterdir()) == [])
    # The embedded server's keeper sees the end of its last user, and ends a moment later.
    assert _soon(lambda: _processes_in(tmp_path) == []), _processes_in(tmp_path)


def _exists(folder: Path, file: str) -> bool:
    """Whether the server's folder has such a file, with something in it unless it is a lock."""
    found = folder.glob(f"onevoice-simulate-*/default/{file}")
    return any(file.endswith(".lock") or path.stat().st_size for path in found)


def _soon(holds: Callable[[], bool]) -> bool:
    return any(holds() or threading.Event().wait(0.02) for _ in range(1500))


def _processes_in(folder: Path) -> list[str]:
    """Command lines of processes that have to do with a folder."""
    lines: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in line:
            lines.append(line)
    return lines
