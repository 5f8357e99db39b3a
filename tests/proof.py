"""What the proofs of a run have really done, gathered test by test into ``build/proof.json``.

The figures travel with each test's report, so that a process that dies takes none of them with it; the file is
written after every test and says ``running`` until the run has come to its end.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FIGURES = (
    "schedules", "states", "statement_schedules", "statement_pairs", "statement_triples", "crash_points", "crash_pairs",
    "process_faults", "messages", "lost", "duplicates", "ai_after_takeover", "ambiguous", "ambiguous_resolved",
    "mutants", "mutants_killed", "fuzz_inputs",
)  # fmt: skip
# What was found once is a failure, also where the test's second run found nothing.
NEVER = ("lost", "duplicates", "ai_after_takeover")
PATH = Path(__file__).parent.parent / "build" / "proof.json"
_PROPERTY = "proof"

Tables = dict[str, dict[str, str]]

# Of the test that runs now, in its own process.
_counts: Counter[str] = Counter()
_tables: Tables = {}


class Ledger:
    """The figures of a whole run, in the process that hears of every test."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.tables: Tables = {}

    def add(self, counts: Mapping[str, int], tables: Tables) -> None:
        # A figure of zero has been measured: `update` keeps it, `+=` would drop it.
        self.counts.update(counts)
        for table, rows in tables.items():
            self.tables.setdefault(table, {}).update(rows)

    def find_broken(self) -> list[str]:
        """What must never have happened, in any run of any test."""
        found = [f"{name} is {self.counts[name]}, not 0" for name in NEVER if self.counts[name]]
        for whole, part in (("mutants", "mutants_killed"), ("ambiguous", "ambiguous_resolved")):
            if self.counts[part] != self.counts[whole]:
                found.append(f"{part} is {self.counts[part]} of {self.counts[whole]}")
        return found

    def write(self, result: str, *, path: Path = PATH) -> None:
        """Only what was measured: a part of the proof leaves out the other figures."""
        commit, is_changed = find_commit()
        figures: dict[str, Any] = {"commit": commit, "uncommitted_changes": is_changed, "result": result}
        figures |= {name: self.counts[name] for name in FIGURES if name in self.counts}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(figures | self.tables, indent=2) + "\n", encoding="utf-8")


_ledger = Ledger()
_is_worker = False


def count(**figures: int) -> None:
    """Add to the figures of this test; zero counts as having been measured."""
    for name, value in figures.items():
        if name not in FIGURES:
            raise ValueError(f"{name} is no figure of the proof")
        _counts.update({name: value})


def note(table: str, rows: Mapping[str, str]) -> None:
    """A table of the proof: which mutant was killed where, what happened how often."""
    _tables.setdefault(table, {}).update(rows)


def pytest_configure(config: pytest.Config) -> None:
    global _is_worker  # One pytest per process.
    _is_worker = hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Give a test's figures to its report."""
    report: pytest.TestReport = yield
    if call.when == "call" and (_counts or _tables):
        report.user_properties.append((_PROPERTY, {"counts": dict(_counts), "tables": dict(_tables)}))
        _counts.clear()
        _tables.clear()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _is_worker:
        return
    for name, value in report.user_properties:
        if name == _PROPERTY and isinstance(value, dict):
            given: dict[str, Any] = value
            _ledger.add(given["counts"], given["tables"])
            _ledger.write("running")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _is_worker or not _ledger.counts:
        return
    if _ledger.find_broken() and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    _ledger.write("passed" if session.exitstatus == pytest.ExitCode.OK else "failed")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _ledger.counts:
        return
    terminalreporter.write_sep("-", "proof")
    for name in FIGURES:
        if name in _ledger.counts:
            terminalreporter.write_line(f"{name:20} {_ledger.counts[name]:>12,}")
    for line in _ledger.find_broken():
        terminalreporter.write_line(f"BROKEN: {line}", red=True)


@cache
def find_commit() -> tuple[str | None, bool]:
    """The commit that the run began on, and whether its files had been changed since; none outside a repository."""
    commit = _git("rev-parse", "HEAD")
    changed = _git("--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "src", "tests")
    return commit or None, bool(commit and changed)


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=PATH.parent.parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
