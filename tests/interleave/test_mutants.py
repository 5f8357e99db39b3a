"""Every check that is taken out of the flow must be missed by a schedule, at the level that can see it."""

from __future__ import annotations

import pytest

from tests import proof
from tests.interleave.mutants import MUTANTS, Mutant, applied
from tests.interleave.repertoire import BY_NAME
from tests.interleave.search import explore, wander
from tests.interleave.theatre import Theatre

RUNS = 400
WALKS = 150


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
async def test_a_missing_check_is_seen(theatre: Theatre, mutant: Mutant) -> None:
    """The search ends at a schedule that breaks the invariant for whose sake the check is there."""
    if mutant.ddl is not None:
        await theatre.execute(mutant.ddl[0])
    try:
        with applied(mutant):
            # A walk jumps anywhere at once; the search goes through the ends first.
            found = await wander(theatre, BY_NAME[mutant.cast], runs=WALKS, seed=1)
            if not found.failures:
                found = await explore(theatre, BY_NAME[mutant.cast], runs_max=RUNS)
    finally:
        if mutant.ddl is not None:
            await theatre.restore(None)
            await theatre.execute(mutant.ddl[1])
    proof.count(mutants=1, mutants_killed=1 if found.failures else 0)
    seen = (
        f"after {found.runs} schedules: {found.failures[0].violations[0]}" if found.failures else "survived"
    )
    proof.note("killed_by", {mutant.name: f"{mutant.level}, {mutant.cast}, {seen}"})

    assert found.failures, f"{mutant.name}: {found.runs} schedules of {mutant.cast} saw nothing"
