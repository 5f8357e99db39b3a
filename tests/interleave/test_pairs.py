"""Every pair of transactions that touch the same rows, statement by statement, with at most three preemptions."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from tests import proof
from tests.architecture.project import ROOT
from tests.interleave.aftermath import ELSEWHERE
from tests.interleave.choices import Choices
from tests.interleave.every_pair import PAIRS, SCENES, stepped
from tests.interleave.search import Found, explore, run_once
from tests.interleave.snapshot_trap import TRAP, TRAP_MENDED
from tests.interleave.theatre import Theatre

RUNS_MAX = 5000


async def test_the_snapshot_trap_is_seen_at_statement_level_only(theatre: Theatre) -> None:
    """Deciding from the snapshot of a statement that has waited for a row: invisible between whole transactions."""
    whole = await explore(theatre, replace(TRAP, level=1), runs_max=RUNS_MAX)
    stepped = await explore(theatre, TRAP, runs_max=RUNS_MAX)
    mended = await explore(theatre, TRAP_MENDED, runs_max=RUNS_MAX)
    proof.count(schedules=whole.runs, statement_schedules=stepped.runs + mended.runs)

    assert whole.is_exhausted
    assert not whole.failures
    assert stepped.failures
    assert mended.is_exhausted
    assert not mended.failures


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("scene", SCENES)
async def test_no_two_transactions_break_a_promise(theatre: Theatre, scene: str, *, is_long: bool) -> None:
    """Every pair of the scene is exhausted; with ``make prove`` every three of them as well."""
    for cast in (cast for cast in PAIRS if cast.name.startswith(f"{scene}: ")):
        found = await explore(theatre, cast, runs_max=RUNS_MAX)
        _count(found, statement_pairs=1)
        assert not found.failures, str(found.failures[0])
        assert found.is_exhausted, f"{cast.name} has more than {RUNS_MAX} schedules"
    if not is_long:
        return
    for three in combinations_with_replacement(SCENES[scene][1], 3):
        found = await explore(theatre, stepped(scene, *three), runs_max=RUNS_MAX)
        _count(found, statement_triples=1)
        assert not found.failures, str(found.failures[0])


def _count(found: Found, **more: int) -> None:
    proof.count(
        schedules=found.schedules,
        states=len(found.states),
        statement_schedules=found.schedules,
        ambiguous=found.ambiguous,
        ambiguous_resolved=found.resolved,
        **more,
    )


@pytest.mark.slow
async def test_no_transaction_is_left_out(theatre: Theatre) -> None:
    """Each act alone is played once: what the flow's code opens and no act opens has its reason in a table."""
    played: set[str] = set()
    for scene, (_, acts) in SCENES.items():
        for act in acts:
            found = Found()
            world = await run_once(theatre, stepped(scene, act), Choices(), found=found, prunes=False)
            assert not found.failures, str(found.failures[0])
            played |= {step.did.partition(":")[0] for step in world.trace}
    opened = set[str]().union(
        *(_transactions(path) for path in (ROOT / "src" / "onevoice" / "flow").rglob("*.py"))
    )

    assert opened - played - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) - opened == set()


def _transactions(path: Path) -> set[str]:
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "transaction"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
