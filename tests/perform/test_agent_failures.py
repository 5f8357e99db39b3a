"""The agent fails: back-off, hand-off, recovery, and answers that nobody can store."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onevoice.errors import AgentError
from onevoice.flow.authority.decide import Command
from onevoice.vocabulary import OutgoingMessage, Proposal
from tests.perform.stage import AUTOMATION, Stage


async def _tries(stage: Stage, seconds: float) -> list[float]:
    """When the agent was called, in seconds after the first message fell due."""
    calls: list[float] = []
    for _ in range(round(seconds)):
        before = len(stage.agent.contexts)
        await stage.run()
        calls += [stage.clock.monotonic() - 5.0] * (len(stage.agent.contexts) - before)
        await stage.clock.advance(1.0)
    return calls


async def test_errors_back_off_then_a_human_is_asked(stage: Stage) -> None:
    """After 1, 2, 4 … 30 s, for at most ``retry_for_seconds``; then ``integration_failure``."""
    for _ in range(40):
        stage.agent.script(AgentError("overloaded"))
    await stage.customer("oi")
    await stage.clock.advance(5.0)

    tried = await _tries(stage, 320.0)

    assert [later - earlier for earlier, later in pairwise(tried)] == [
        1, 2, 4, 8, 16, *[30] * (len(tried) - 6),
    ]  # fmt: skip
    assert 270 <= tried[-1] <= 300
    talk = await stage.conversation()
    assert (talk["authority_state"], talk["authority_reason"]) == ("HANDOFF_PENDING", "integration_failure")
    assert stage.sent == []
    assert await stage.states("inbound_message") == ["open"]
    assert stage.count("turns", verdict="failed", reason="overloaded") == len(tried)


async def test_a_success_forgets_earlier_failures(stage: Stage) -> None:
    """The next failure starts again at one second."""
    stage.agent.script(AgentError("overloaded"))
    stage.agent.script(AgentError("overloaded"))
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    assert await _tries(stage, 10.0) == [0, 1, 3]
    assert stage.sent == ["Certo!"]
    talk = await stage.conversation()
    assert (talk["agent_failure_count"], talk["agent_failing_since"], talk["turn_not_before"]) == (
        0,
        None,
        None,
    )

    stage.agent.script(AgentError("overloaded"))
    await stage.customer("e agora?")
    tried = await _tries(stage, 10.0)
    assert tried[1] - tried[0] == 1


async def test_a_message_during_the_back_off_does_not_shorten_it(stage: Stage) -> None:
    """The customer's next message joins the burst; the provider is left in peace."""
    stage.agent.script(AgentError("overloaded", retry_after_seconds=20.0))
    await stage.customer("oi")
    await stage.after(5.0)
    await stage.customer("alô?")
    await stage.after(14.0)
    assert len(stage.agent.contexts) == 1
    await stage.after(6.0)

    assert [m.text for m in stage.agent.contexts[1].messages] == ["oi", "alô?"]


async def test_a_clock_that_is_set_back_does_not_lengthen_the_tries(stage: Stage) -> None:
    """``retry_for_seconds`` counts from the earliest failure, by whatever the clock says since."""
    for _ in range(20):
        stage.agent.script(AgentError("overloaded"))
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    stage.clock.jump(3600.0)
    await stage.answer(turn)
    stage.clock.jump(-3600.0)
    await stage.owner.execute("update conversation set turn_not_before = null")
    await stage.customer("alô?")
    await stage.clock.advance(5.0)
    await _tries(stage, 320.0)

    assert await stage.entries("authority") == [("HANDOFF_PENDING", "integration_failure")]


async def test_an_error_that_cannot_be_retried_asks_at_once(stage: Stage) -> None:
    """A wrong key does not become right by waiting."""
    stage.agent.script(AgentError("unauthorized", retry=False))
    await stage.customer("oi")
    await stage.after(5.0)

    assert await stage.entries("authority") == [("HANDOFF_PENDING", "integration_failure")]
    assert await stage.states("turn") == ["failed: unauthorized"]


async def test_an_agent_that_raises_anything_is_a_failure(stage: Stage) -> None:
    """Foreign code may raise what it likes; the turn ends."""
    stage.agent.script(ZeroDivisionError())
    await stage.customer("oi")
    await stage.after(5.0)

    assert await stage.states("turn") == ["failed: agent_raised"]
    await stage.after(1.0)
    assert stage.sent == ["Certo!"]
    assert stage.count("agent_calls", outcome="failed") == 1
    assert stage.count("agent_calls", outcome="answered") == 1


@pytest.mark.parametrize("settings", [{"agent": {"timeout_seconds": 0.1}}])
async def test_an_agent_that_does_not_answer_in_time_is_a_failure(stage: Stage) -> None:
    """Its call is ended at the deadline."""
    stage.agent.script("tarde demais", held=True)
    await stage.customer("oi")
    await stage.after(5.0)

    assert await stage.states("turn") == ["failed: agent_timeout"]


@pytest.mark.parametrize("text", ["nul \x00 inside", "half a pair \ud83d"])
async def test_an_answer_that_cannot_be_stored_fails_its_turn_alone(stage: Stage, text: str) -> None:
    """The turn ends at once instead of running until its lease is lost; the next try is a new answer."""
    stage.agent.script(Proposal(messages=(OutgoingMessage(text=text),)))
    await stage.customer("oi")
    await stage.after(5.0)

    assert await stage.states("turn") == ["failed: answer_refused"]
    await stage.after(1.0)
    assert stage.sent == ["Certo!"]


async def test_a_human_who_returns_the_conversation_ends_the_back_off(stage: Stage) -> None:
    """A new authority starts with a clean sheet."""
    stage.agent.script(AgentError("overloaded", retry_after_seconds=60.0))
    await stage.customer("oi")
    await stage.after(5.0)
    await stage.owner.execute("update conversation set agent_failure_count = 9")
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    await stage.command(Command.RELEASE, AUTOMATION)
    await stage.run()

    assert stage.sent == ["Certo!"]
