"""The window bends to what was said, where that is switched on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.perform.stage import Stage


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"turns": {"window_heuristics": True}}


async def test_a_question_is_answered_after_half_the_window(stage: Stage) -> None:
    """A whole thought needs no long wait; the turn's journal entry names the rule."""
    await stage.customer("vocês abrem sábado?")
    await stage.after(2.4)
    early = list(stage.sent)
    await stage.after(0.2)
    entry = await stage.owner.fetchval("select data from journal where kind = 'turn' and state = 'running'")

    assert early == []
    assert stage.sent == ["Certo!"]
    assert '"question"' in entry


async def test_a_bare_greeting_is_given_more_time(stage: Stage) -> None:
    """The thought comes after it."""
    await stage.customer("Oi, tudo bem")
    await stage.after(7.5)
    early = list(stage.sent)
    await stage.after(1.0)

    assert early == []
    assert stage.sent == ["Certo!"]


async def test_the_latest_message_sets_the_window(stage: Stage) -> None:
    """After a greeting and a question the customer waits as for the question."""
    await stage.customer("oi")
    await stage.customer("quanto custa?")
    await stage.after(2.6)

    assert len(stage.agent.contexts[0].messages) == 2


async def test_a_freed_message_keeps_its_window(stage: Stage) -> None:
    """Derived from the rows whenever a turn ends: the same rule holds then."""
    await stage.customer("quanto custa?")
    await stage.clock.advance(2.5)
    (turn,) = await stage.claim()
    await stage.customer("oi")
    await stage.answer(turn)
    await stage.after(7.0)
    early = list(stage.sent)
    await stage.after(1.1)

    assert early == []
    assert stage.sent == ["Certo!"]
