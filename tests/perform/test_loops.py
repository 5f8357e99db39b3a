"""A conversation with another bot is stopped; one whose clock is set back is not taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from onevoice.vocabulary import Proposal
from tests.perform.stage import Stage


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"turns": {"debounce_seconds": 0.0}, "handoff": {"loop_turns_per_minute": 3}}


async def _talk(stage: Stage, turns: int, *, apart: float) -> None:
    """So many messages with a turn each; the agent says nothing, so that only the turns are told of."""
    for _ in range(turns):
        stage.agent.script(Proposal())
        await stage.customer("oi")
        await stage.run()
        await stage.clock.advance(apart)


async def test_many_turns_in_a_minute_are_suspended(stage: Stage) -> None:
    """The turn after as many as are allowed does not begin."""
    await _talk(stage, 3, apart=10.0)
    assert await stage.entries("authority") == []
    await _talk(stage, 1, apart=10.0)

    assert await stage.entries("authority") == [("AI_SUSPENDED", "loop_suspected")]
    assert len(await stage.rows("turn")) == 3


async def test_a_slow_talk_is_none(stage: Stage) -> None:
    """Every minute counts anew."""
    await _talk(stage, 12, apart=25.0)

    assert await stage.entries("authority") == []


async def test_a_clock_that_is_set_back_makes_no_loop(stage: Stage) -> None:
    """The minute that was being counted lies in the future now: it must not last until then."""
    await _talk(stage, 1, apart=10.0)
    stage.clock.jump(-3600.0)
    await _talk(stage, 12, apart=25.0)

    assert await stage.entries("authority") == []
