"""The sign that an answer is being written: while the agent takes its time, renewed, and never after a takeover."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from onevoice.entrypoints.work_signs import OVERLAP_SECONDS, WorkSigns
from onevoice.flow.authority.decide import Command
from onevoice.flow.turn.decide import Turn
from tests.perform.clinic import count
from tests.perform.stage import Stage

WORKING_SECONDS = 25.0


class Signs:
    """The signs of one process, whose tasks the test waits for."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.signs = WorkSigns(stage.runtime, spawn=self._spawn)

    async def after(self, seconds: float) -> list[str]:
        """Let time pass and look; returns the messages that were marked as read so far."""
        await self._stage.clock.advance(seconds)
        await self.signs.look()
        await asyncio.gather(*self.signs.tasks)
        return self._stage.channel.signs

    def _spawn(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        tasks.add(asyncio.create_task(work))


@pytest.fixture
def signs(stage: Stage) -> Signs:
    stage.channel.working_seconds = WORKING_SECONDS
    return Signs(stage)


async def _claimed(stage: Stage) -> Turn:
    await stage.customer("oi")
    await stage.customer("tudo bem?")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    return turn


async def test_the_newest_message_is_read_and_the_sign_is_renewed(stage: Stage, signs: Signs) -> None:
    """Not for an answer that is there at once; again before the channel's sign fades; not after the answer."""
    turn = await _claimed(stage)
    signs.signs.begin(turn)
    assert await signs.after(0.9) == []
    assert await signs.after(0.1) == ["m2"]
    assert await signs.after(WORKING_SECONDS - OVERLAP_SECONDS - 0.1) == ["m2"]
    assert await signs.after(0.1) == ["m2", "m2"]
    signs.signs.end(turn.id)
    assert await signs.after(2 * WORKING_SECONDS) == ["m2", "m2"]


async def test_after_a_takeover_nobody_is_shown_at_work(stage: Stage, signs: Signs) -> None:
    """The turn has ended: its agent may still think, and nothing says so to the customer."""
    signs.signs.begin(await _claimed(stage))
    await stage.command(Command.TAKE, await stage.operator("bia"))

    assert await signs.after(2.0) == []
    assert await signs.after(WORKING_SECONDS) == []


async def test_a_sign_that_fails_is_counted(
    stage: Stage, signs: Signs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And tried again when the next one is due."""

    async def refuse(message_external_id: str) -> None:
        raise ConnectionError(message_external_id)

    monkeypatch.setattr(stage.channel, "show_working", refuse)
    signs.signs.begin(await _claimed(stage))
    await signs.after(1.0)
    await signs.after(WORKING_SECONDS)

    assert count(stage, "work_signs", outcome="failed") == 2


async def test_a_channel_without_such_a_sign_is_not_asked(stage: Stage, signs: Signs) -> None:
    """Webchat shows none, and WhatsApp's can be turned off."""
    stage.channel.working_seconds = None
    signs.signs.begin(await _claimed(stage))

    assert await signs.after(WORKING_SECONDS) == []
