"""What the proofs of a run have really done, merged over its processes into ``build/proof.json``."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FIGURES = (
    "schedules", "states", "statement_schedules", "crash_points", "process_faults", "messages", "lost", "duplicates",
    "ai_after_takeover", "mutants", "mutants_killed", "fuzz_inputs",
)  # fmt: skip
PATH = Path(__file__).parent.parent / "build" / "proof.json"

_counts: Counter[str] = Counter()
_tables: dict[str, dict[str, str]] = {}


def count(**figures: int) -> None:
    """Add to the figures of this run; zero counts as having been measured."""
    for name, value in figures.items():
        if name not in FIGURES:
            raise ValueError(f"{name} is no figure of the proof")
        _counts[name] += value


def note(table: str, rows: Mapping[str, str]) -> None:
    """A table of the proof: which mutant was killed where, what happened how often."""
    _tables.setdefault(table, {}).update(rows)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["proof"] = {"counts": dict(_counts), "tables": _tables}
    elif _counts:
        _write()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what one process of pytest-xdist has counted."""
    proof = getattr(node, "workeroutput", {}).get("proof", {})
    _counts.update(proof.get("counts", {}))
    for table, rows in proof.get("tables", {}).items():
        note(table, rows)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _counts:
        terminalreporter.write_sep("-", "proof")
        for name in FIGURES:
            if name in _counts:
                terminalreporter.write_line(f"{name:20} {_counts[name]:>10,}")


def _write() -> None:
    commit = subprocess.run(  # Fixed arguments.
        ["git", "rev-parse", "HEAD"],
        cwd=PATH.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    figures: dict[str, Any] = {"commit": commit or None}
    figures |= {name: _counts[name] for name in FIGURES if name in _counts}
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(figures | _tables, indent=2, sort_keys=False) + "\n", encoding="utf-8")
