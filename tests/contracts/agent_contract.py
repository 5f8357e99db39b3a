"""What every agent promises (ports/agent.py). A subclass adds the ``agent`` fixture and nothing else."""

from __future__ import annotations

import asyncio
import re

import pytest

from onevoice.errors import AgentError
from onevoice.ports.agent import Agent
from onevoice.testing import make_turn_context
from onevoice.vocabulary import BurstMessage, MessageId, Proposal, TurnContext


def unheard_audio() -> TurnContext:
    """A burst of one audio that was not transcribed."""
    spare = make_turn_context("x", turn=9).messages[0]
    audio = BurstMessage(id=MessageId(spare.id), type="audio", text=None, at=spare.at)
    return make_turn_context(audio, turn=9)


class AgentContract:
    async def test_a_burst_is_answered_with_a_proposal(self, agent: Agent) -> None:
        """Each message of a proposal has words; a proposal without any is a handoff or a silence."""
        proposal = await agent.propose(make_turn_context("oi", "queria marcar"))

        assert isinstance(proposal, Proposal)
        assert all(message.text.strip() for message in proposal.messages)
        assert proposal.confidence is None or 0 <= proposal.confidence <= 1

    async def test_a_burst_without_words_is_answered_too(self, agent: Agent) -> None:
        """An audio nobody could transcribe is no reason to fail."""
        assert isinstance(await agent.propose(unheard_audio()), Proposal)

    async def test_turns_of_many_conversations_run_side_by_side(self, agent: Agent) -> None:
        """One instance serves all conversations at once."""
        contexts = [make_turn_context(f"oi {turn}", turn=turn, contact_id=str(turn)) for turn in range(1, 21)]
        proposals = await asyncio.gather(*(agent.propose(context) for context in contexts))

        assert len(proposals) == 20
        assert all(isinstance(proposal, Proposal) for proposal in proposals)

    async def test_a_cancelled_call_ends_as_cancelled(self, agent: Agent) -> None:
        """Cancelling never turns into an answer or another error."""
        call = asyncio.ensure_future(agent.propose(make_turn_context("oi")))
        call.cancel()
        await asyncio.wait([call])

        assert call.cancelled()

    async def test_its_name_is_one_line_for_logs(self, agent: Agent) -> None:
        """The name is printable, so that journal and log can carry it; ``in_process`` is declared."""
        assert re.fullmatch(r"\S{1,200}", agent.name)
        assert isinstance(agent.in_process, bool)

    async def test_it_can_be_closed_twice(self, agent: Agent) -> None:
        """Closing is the last call and harmless when repeated."""
        await agent.close()
        await agent.close()


class FailingAgentContract:
    """For agents that can fail; the ``failing_agent`` fixture has none to give."""

    async def test_a_failure_is_an_agent_error_with_a_code(self, failing_agent: Agent) -> None:
        """What goes wrong inside comes out as one error type, with a code for journal and metric."""
        with pytest.raises(AgentError) as failure:
            await failing_agent.propose(make_turn_context("o meu segredo"))

        assert re.fullmatch(r"[a-z0-9_]{1,64}", failure.value.reason)
        assert failure.value.retry
        assert "segredo" not in str(failure.value)
