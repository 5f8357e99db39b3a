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
from onevoice.ports.agent import Agent
from onevoice.testing import ModelFault
from tests.contracts.agent_contract import AgentContract
from tests.contracts.library_contract import BURSTS, INSTRUCTIONS, LibraryContract, book, cancel, slots


class TestOwnModel(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        agent = PydanticAgent(TestModel(call_tools=["slots"]), tools=[slots])
        return adapt_pydantic_ai("clinic:agent", agent, burst_instructions=BURSTS)


@asynccontextmanager
async def _on_the_wire(url: str) -> AsyncIterator[Agent]:
    async with AsyncAnthropic(base_url=url, api_key="test-key", max_retries=0) as client:
        model = AnthropicModel("test-model", provider=AnthropicProvider(anthropic_client=client))
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
