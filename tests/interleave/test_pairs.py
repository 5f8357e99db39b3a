"""Every pair of transactions that touch the same rows, statement by statement, with at most three preemptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import proof
from tests.interleave.casts import Script
from tests.interleave.pairs import PAIRS, SCENES
from tests.interleave.search import explore
from tests.interleave.snapshot_trap import TRAP, TRAP_MENDED
from tests.interleave.theatre import Theatre
from tests.interleave.world import Actor, Cast

RUNS_MAX = 5000


def _with_third(cast: Cast, name: str, script: Script) -> Cast:
    third = Actor(name=f"{name} 3", script=script)
    return replace(cast, name=f"{cast.name} and {name}", actors=(*cast.actors, third))


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
    pairs = [cast for cast in PAIRS if cast.name.startswith(f"{scene}: ")]
    casts = [(cast, RUNS_MAX) for cast in pairs]
    if is_long:
        acts = SCENES[scene][1]
        casts += [(_with_third(cast, third, acts[third]), RUNS_MAX) for cast in pairs for third in acts]
    for cast, runs_max in casts:
        found = await explore(theatre, cast, runs_max=runs_max)
        proof.count(schedules=found.runs, states=len(found.states), statement_schedules=found.runs)
        assert not found.failures, str(found.failures[0])
        assert found.is_exhausted or is_long, f"{cast.name} has more than {runs_max} schedules"
