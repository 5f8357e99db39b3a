"""Kills, freezes, cut connections and database restarts under traffic: nothing lost, nothing twice, one voice."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from onevoice.testing import LoopbackGraph
from tests import proof
from tests.process.test_database_away import PrivateServer
from tests.progress import IS_LONG
from tests.prove.battle import Battle

ROUNDS = 60 if IS_LONG else 1
CONTACTS = 200 if IS_LONG else 30
MESSAGES = 5
SERVERS = 3
MESSAGES_MIN = 100_000 if IS_LONG else 100


@pytest.fixture
def postgres() -> Iterator[PrivateServer]:
    """A PostgreSQL that nobody else uses: it is going to be broken off."""
    folder = Path(tempfile.mkdtemp(prefix="onevoice-battle-"))
    server = PrivateServer(folder)
    yield server
    server.remove()
    shutil.rmtree(folder)


@pytest.fixture
async def battle(postgres: PrivateServer, tmp_path: Path) -> AsyncIterator[Battle]:
    async with LoopbackGraph() as graph:
        fight = Battle(tmp_path, postgres, graph, seed=6)
        yield fight
        await fight.put_down()


async def _round(battle: Battle, number: int) -> None:
    """Twenty-one kills, five freezes, two database restarts, two cuts and two clock jumps, while customers write."""
    contacts = [f"55119{number:04}{contact:05}" for contact in range(CONTACTS)]
    writing = asyncio.create_task(battle.customers(contacts, messages=MESSAGES))
    plan = [
        battle.kill_all, battle.freeze, battle.kill_all, battle.cut_backends, battle.freeze, battle.kill_all,
        battle.restart_postgres, battle.jump, battle.kill_all, battle.freeze, battle.kill_all, battle.cut_backends,
        battle.freeze, battle.kill_all, battle.jump, battle.restart_postgres, battle.freeze, battle.kill_all,
    ]  # fmt: skip
    try:
        for fault in plan:
            battle.misbehave(CONTACTS // 3)
            await fault()
    finally:
        battle.calm_down()
        await writing


@pytest.mark.slow
@pytest.mark.timeout(0)
async def test_nothing_is_lost_nothing_comes_twice_and_nobody_talks_over_a_human(battle: Battle) -> None:
    """Judged by what the channel took: lost 0, definite duplicates 0, AI after a confirmed takeover 0."""
    await battle.start(servers=SERVERS)
    platform = asyncio.create_task(battle.platform())
    for number in range(ROUNDS):
        await _round(battle, number)
    await battle.until_quiet()
    platform.cancel()
    await asyncio.wait([platform])
    outcome = await battle.judge()
    proof.count(
        process_faults=sum(battle.tally.faults.values()),
        messages=outcome.messages,
        lost=len(outcome.lost),
        duplicates=len(outcome.duplicates),
        ai_after_takeover=len(outcome.ai_after_takeover),
        ambiguous=outcome.ambiguous,
        ambiguous_resolved=outcome.ambiguous - len(outcome.unresolved),
    )
    proof.note("faults", {name: str(count) for name, count in battle.tally.faults.items()})

    assert outcome.lost == []
    assert outcome.duplicates == []
    assert outcome.ai_after_takeover == []
    assert outcome.violations == []
    assert outcome.unresolved == []
    assert outcome.messages >= MESSAGES_MIN
    assert outcome.ambiguous >= 5 * ROUNDS
    assert len(battle.tally.takeovers) >= 3 * ROUNDS
    assert battle.tally.faults["SIGKILL"] >= 20 * ROUNDS
    assert battle.tally.faults["SIGSTOP"] >= 5 * ROUNDS
    assert battle.tally.faults["PostgreSQL restart"] >= 2 * ROUNDS
