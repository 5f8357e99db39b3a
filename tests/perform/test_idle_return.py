"""A human who leaves a conversation quiet for long gives it back to the AI; whoever still writes in it does not."""

from __future__ import annotations

from typing import Any

import pytest

from onevoice.flow.authority.decide import Command
from tests.perform.stage import Stage


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"handoff": {"idle_return_seconds": 600.0}}


def _echo(external_id: str) -> dict[str, object]:
    """What the business writes from its own phone."""
    return {"id": external_id, "from": "ana", "text": "Oi, aqui é o Caio", "echo": True}


async def test_an_operator_who_has_gone_gives_it_back(stage: Stage) -> None:
    """After so long since their last message, and not before."""
    await stage.customer("oi")
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.after(400.0)
    await stage.reply(bia, "já vejo")
    await stage.run()
    await stage.after(590.0)
    assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    await stage.after(20.0)

    assert (await stage.authority())[0] == "AI_ACTIVE"


async def test_a_phone_that_still_answers_keeps_it(stage: Stage) -> None:
    """Every reply from the business's own phone counts, not only the one that took over."""
    await stage.customer("oi")
    for number in range(4):
        await stage.webhook(_echo(f"e{number}"))
        await stage.after(400.0)
        assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    await stage.after(210.0)

    assert (await stage.authority())[0] == "AI_ACTIVE"
