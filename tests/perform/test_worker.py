"""A process's loops outlive whatever goes wrong in them."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest

from onevoice.entrypoints import worker as module
from onevoice.entrypoints.worker import FAILED_SECONDS, Worker
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import Turn
from tests.perform.stage import Stage


async def test_a_loop_that_fails_goes_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted by its name, and looks again a moment later."""
    looked = asyncio.Semaphore(0)
    faults = deque([RuntimeError("nobody thought of this")])

    async def claim(_: Runtime, *, limit: int) -> list[Turn]:
        looked.release()
        if faults:
            raise faults.popleft()
        return []

    monkeypatch.setattr(module, "claim", claim)
    worker = Worker(stage.runtime)
    worker.start()
    try:
        await looked.acquire()
        await stage.clock.advance(FAILED_SECONDS)
        await asyncio.wait_for(looked.acquire(), timeout=5.0)
    finally:
        await worker.drain(0.0)

    assert _failures(stage) == {"_look_for_turns": 1.0}


async def test_work_that_fails_is_counted_by_its_name(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that raises is let go; its lease hands it to the next look."""
    ended = asyncio.Event()

    def prepare(*_: object) -> None:
        ended.set()
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr(module, "prepare", prepare)
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    worker = Worker(stage.runtime)
    worker.start()
    try:
        await asyncio.wait_for(ended.wait(), timeout=5.0)
    finally:
        await worker.drain(0.0)

    assert _failures(stage) == {"_run_turn": 1.0}


def _failures(stage: Stage) -> dict[str, float]:
    [metric] = stage.runtime.telemetry.worker_failures.collect()
    return {
        sample.labels["work"]: sample.value for sample in metric.samples if sample.name.endswith("_total")
    }
