"""A process that stops hands its downloads and transcriptions to the others at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from onevoice.entrypoints.media_jobs import MediaJobs
from tests.perform.stage import Stage


def _jobs(stage: Stage) -> MediaJobs:
    def spawn(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def once(act: Callable[[], Awaitable[Any]]) -> None:
        await act()

    return MediaJobs(stage.runtime, spawn=spawn, until_available=once)


async def _begun(stage: Stage) -> MediaJobs:
    """Jobs that hold the transcription of an audio."""
    await stage.audio()
    await stage.fetch_files()
    jobs = _jobs(stage)
    await jobs.look()
    await stage.transcriber.called()
    return jobs


async def test_what_a_stopping_process_held_is_due_for_others(stage: Stage) -> None:
    """A look at its leases that comes after the stop takes nothing back."""
    stage.transcriber.script("never heard", held=True)
    jobs = await _begun(stage)
    assert await stage.hearings() == []

    await jobs.stop()
    await jobs.renew()

    (hearing,) = await stage.hearings()
    assert hearing.try_count == 2
    assert stage.transcriber.audios[0].content


async def test_what_runs_is_kept(stage: Stage) -> None:
    """Renewed, it is nobody else's after the first lease would have run out."""
    held = stage.transcriber.script("pra sexta", held=True)
    jobs = await _begun(stage)
    for _ in range(3):
        await stage.clock.advance(6.0)
        await jobs.renew()
    assert await stage.hearings() == []
    held.open()
    await jobs.stop()
