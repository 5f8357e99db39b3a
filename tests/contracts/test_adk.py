"""Agents of Google's ADK keep the agent's contract, with a model of their own kind and on Gemini's wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, Gemini, LlmRequest, LlmResponse
from google.genai import types

from onevoice.adapters.agents.adk import adapt_adk
from onevoice.ports.agent import Agent
from onevoice.testing import ModelFault
from tests.contracts.agent_contract import AgentContract
from tests.contracts.library_contract import BURSTS, INSTRUCTIONS, LibraryContract, book, cancel, slots


class EchoModel(BaseLlm):
    """The library's own way to a test model: it answers with the last text it was sent."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        said = llm_request.contents[-1].parts or []
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said[-1].text)]))


class TestOwnModel(AgentContract):
    @pytest.fixture
    async def agent(self) -> AsyncIterator[Agent]:
        agent = adapt_adk(
            "orders:agent", LlmAgent(name="orders", model=EchoModel(model="echo")), burst_instructions=BURSTS
        )
        yield agent
        await agent.close()


@asynccontextmanager
async def _on_the_wire(url: str) -> AsyncIterator[Agent]:
    model = Gemini(model="test-model", base_url=url, client_kwargs={"api_key": "test-key"})
    agent = LlmAgent(name="clinic", model=model, instruction=INSTRUCTIONS, tools=[slots, book, cancel])
    adapted = adapt_adk("clinic:agent", agent, burst_instructions=BURSTS)
    yield adapted
    await adapted.close()
    await model.api_client.aio.aclose()


class TestGeminiWire(LibraryContract):
    build = _on_the_wire
    faults: ClassVar[dict[str, tuple[ModelFault, str, bool, float | None]]] = {
        "overloaded": (
            ModelFault(status=503, type="UNAVAILABLE", message="The model is overloaded."),
            "provider_overloaded",
            True,
            None,
        ),
        "rate": (
            ModelFault(status=429, type="RESOURCE_EXHAUSTED", code="17s"),
            "provider_rate_limited",
            True,
            17.0,
        ),
        "spent": (
            ModelFault(
                status=429,
                type="RESOURCE_EXHAUSTED",
                message="You exceeded your current quota, please check your plan and billing details.",
            ),
            "provider_spend_limit",
            False,
            None,
        ),
        "server": (ModelFault(status=500, type="INTERNAL"), "provider_unavailable", True, None),
        "time-out": (ModelFault(status=504, type="DEADLINE_EXCEEDED"), "provider_unavailable", True, None),
        "key": (ModelFault(status=403, type="PERMISSION_DENIED"), "provider_key_refused", False, None),
        "model": (ModelFault(status=404, type="NOT_FOUND"), "model_unknown", False, None),
        "long": (
            ModelFault(
                status=400,
                type="INVALID_ARGUMENT",
                message="The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
            "context_too_long",
            False,
            None,
        ),
        "request": (ModelFault(status=400, type="INVALID_ARGUMENT"), "provider_bad_request", False, None),
    }
