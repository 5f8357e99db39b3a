"""Agents of pydantic-ai keep the agent's contract, with the library's test model and on Anthropic's wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from onevoice.adapters.agents.pydantic_ai import adapt_pydantic_ai
from onevoice.errors import AgentError
from onevoice.ports.agent import Agent
from onevoice.testing import LoopbackModel, ModelFault, ToolCall, make_turn_context
from onevoice.vocabulary import Usage
from tests.contracts.agent_contract import AgentContract
from tests.contracts.library_contract import BURSTS, INSTRUCTIONS, LibraryContract, book, cancel, slots


class TestOwnModel(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        agent = PydanticAgent(TestModel(call_tools=["slots"]), tools=[slots])
        return adapt_pydantic_ai("clinic:agent", agent, burst_instructions=BURSTS)


@asynccontextmanager
async def _on_the_wire(url: str, *, name: str = "test-model") -> AsyncIterator[Agent]:
    async with AsyncAnthropic(base_url=url, api_key="test-key", max_retries=0) as client:
        model = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
        agent = PydanticAgent(model, system_prompt=INSTRUCTIONS, tools=[slots, book, cancel])
        yield adapt_pydantic_ai("clinic:agent", agent, burst_instructions=BURSTS)


class TestAnthropicWire(LibraryContract):
    build = _on_the_wire
    faults: ClassVar[dict[str, tuple[ModelFault, str, bool, float | None]]] = {
        "overloaded": (ModelFault(status=529, type="overloaded_error"), "provider_overloaded", True, None),
        "rate": (
            ModelFault(status=429, type="rate_limit_error", headers={"retry-after": "7"}),
            "provider_rate_limited",
            True,
            7.0,
        ),
        "rate without a wait": (
            ModelFault(status=429, type="rate_limit_error"),
            "provider_rate_limited",
            True,
            None,
        ),
        "spent": (
            ModelFault(status=429, type="rate_limit_error", code="enforced_spend_limit_reached"),
            "provider_spend_limit",
            False,
            None,
        ),
        "billing": (ModelFault(status=402, type="billing_error"), "provider_spend_limit", False, None),
        "server": (ModelFault(status=500), "provider_unavailable", True, None),
        "time-out": (ModelFault(status=504, type="timeout_error"), "provider_unavailable", True, None),
        "key": (ModelFault(status=401, type="authentication_error"), "provider_key_refused", False, None),
        "permission": (ModelFault(status=403, type="permission_error"), "provider_key_refused", False, None),
        "model": (ModelFault(status=404, type="not_found_error"), "model_unknown", False, None),
        "long": (
            ModelFault(
                status=400, type="invalid_request_error", message="prompt is too long: 9 tokens > 8 maximum"
            ),
            "context_too_long",
            False,
            None,
        ),
        "large": (ModelFault(status=413, type="request_too_large"), "context_too_long", False, None),
        "request": (
            ModelFault(status=400, type="invalid_request_error"),
            "provider_bad_request",
            False,
            None,
        ),
    }


async def test_a_streamed_answer_is_as_good() -> None:
    """The library streams where a model may write at length; calls and texts come in pieces."""
    script = (ToolCall(name="slots", args={"day": "sexta"}), "Sexta às 9h.")
    async with LoopbackModel(*script) as model, _on_the_wire(model.url, name="claude-sonnet-4-6") as agent:
        proposal = await agent.propose(make_turn_context("tem sexta?"))

    assert [request.content["stream"] for request in model.requests] == [True, True]
    assert [message.text for message in proposal.messages] == ["Sexta às 9h."]
    assert proposal.usage == Usage(input_tokens=24, output_tokens=6, model="claude-sonnet-4-6")


async def test_an_error_in_the_middle_of_a_stream_discards_what_was_said() -> None:
    """The half of an answer is no answer: the whole turn is asked again."""
    fault = ModelFault(status=200, type="overloaded_error")
    async with LoopbackModel(fault) as model, _on_the_wire(model.url, name="claude-sonnet-4-6") as agent:
        with pytest.raises(AgentError) as failure:
            await agent.propose(make_turn_context("oi"))

    assert (failure.value.reason, failure.value.retry) == ("provider_overloaded", True)
