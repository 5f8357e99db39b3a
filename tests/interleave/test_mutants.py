"""Every check that is taken out of the flow must be missed by a schedule, at the level that can see it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import proof
from tests.interleave.gates import TRANSACTION
from tests.interleave.mutants import LEVEL_STATEMENT, MUTANTS, Mutant, applied
from tests.interleave.repertoire import BY_NAME
from tests.interleave.search import Found, explore, wander
from tests.interleave.theatre import Theatre
from tests.interleave.world import Cast

RUNS = 400
WALKS = 150


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
async def test_a_missing_check_is_seen(theatre: Theatre, mutant: Mutant) -> None:
    """At the level where it must be: what only statements show stays hidden between whole transactions."""
    cast = BY_NAME[mutant.cast]
    whole = replace(cast, level=TRANSACTION)
    if mutant.ddl is not None:
        await theatre.execute(mutant.ddl[0])
    try:
        with applied(mutant):
            if mutant.level == LEVEL_STATEMENT:
                hidden = await _search(theatre, whole)
                assert not hidden.failures, f"{mutant.name} is seen between whole transactions already"
                found = await _search(theatre, cast)
            else:
                found = await _search(theatre, whole)
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


async def _search(theatre: Theatre, cast: Cast) -> Found:
    # A walk jumps anywhere at once; the search goes through the ends first.
    walked = await wander(theatre, cast, runs=WALKS, seed=1)
    if walked.failures:
        return walked
    found = await explore(theatre, cast, runs_max=RUNS)
    found.runs += walked.runs
    return found
