"""The proof's own book-keeping: nothing is invented, and nothing that was found is forgotten."""

from __future__ import annotations

import json
from pathlib import Path

from tests.architecture.project import ROOT
from tests.interleave.mutants import MUTANTS
from tests.progress import GOALS, draw
from tests.proof import Ledger


def test_only_what_was_measured_is_written(tmp_path: Path) -> None:
    """A part of the proof leaves the other figures out; a zero that was measured stands there."""
    ledger = Ledger()
    ledger.add({"schedules": 3, "lost": 0}, {"faults": {"SIGKILL": "21"}})
    ledger.write("passed", path=tmp_path / "build" / "proof.json")
    written = json.loads((tmp_path / "build" / "proof.json").read_text(encoding="utf-8"))

    assert set(written) == {"commit", "uncommitted_changes", "result", "schedules", "lost", "faults"}
    assert (written["schedules"], written["lost"], written["result"]) == (3, 0, "passed")


def test_what_was_found_once_is_not_forgotten() -> None:
    """A second run of the same test that finds nothing does not make up for the first."""
    ledger = Ledger()
    ledger.add({"lost": 1, "mutants": 2, "mutants_killed": 1}, {})
    ledger.add({"lost": 0}, {})

    assert ledger.find_broken() == ["lost is 1, not 0", "mutants_killed is 1 of 2"]


def test_the_bar_shows_every_goal() -> None:
    """Half of everything is half a bar; more of one goal does not make up for another."""
    half = draw({name: goal // 2 for name, goal in GOALS.items()}, seconds=3725)
    lopsided = draw({"schedules": 10 * GOALS["schedules"]}, seconds=0)

    assert "50%" in half
    assert half.endswith("1:02")
    assert all(name in half for name in GOALS)
    assert " 25%" in lopsided


def test_the_page_says_which_level_finds_which_fault() -> None:
    """Every fault that is put into the code stands in docs/proof.md, with its level and where it is found."""
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    missing = [
        mutant.name
        for mutant in MUTANTS
        if f"| {mutant.name} | {mutant.invariant} | {mutant.level} | {mutant.cast} |" not in page
    ]

    assert missing == []
