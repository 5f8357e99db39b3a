"""Time and chance in production keep what their ports say."""

import asyncio
import time

import pytest

from onevoice.adapters.chance import SystemChance
from onevoice.adapters.clock import SystemClock
from onevoice.ports.chance import Chance
from onevoice.ports.clock import Clock


def test_new_ids_sort_and_never_repeat() -> None:
    """Ids made within the same millisecond keep the order in which they were made."""
    chance: Chance = SystemChance()
    ids = [chance.new_id() for _ in range(20_000)]

    assert ids == sorted(set(ids))
    assert ids[0].version == 7


def test_jitter_spreads_over_its_range() -> None:
    """Every factor lies in [0.5, 1.0), and they differ."""
    chance: Chance = SystemChance()
    factors = [chance.jitter() for _ in range(1_000)]

    assert all(0.5 <= factor < 1.0 for factor in factors)
    assert max(factors) - min(factors) > 0.4


def test_a_suspended_machine_has_used_up_its_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database was not suspended: what waited for this process has been given up meanwhile (I1)."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        pytest.skip("this system has no clock that counts its suspension")
    clock = SystemClock()
    deadline = clock.monotonic() + 5.0
    read = time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda id_: read(id_) + (60.0 if id_ == time.CLOCK_BOOTTIME else 0.0)
    )

    assert clock.monotonic() >= deadline


async def test_the_database_clock_rules_and_durations_only_grow() -> None:
    """``now`` leaves comparisons to the database; ``monotonic`` does not go back over a sleep."""
    clock: Clock = SystemClock()
    before = clock.monotonic()
    async with asyncio.timeout(5):
        await clock.sleep(0.001)

    assert clock.now() is None
    assert clock.monotonic() - before >= 0.0009
