"""Agents of the OpenAI Agents SDK keep the agent's contract, with a model of their own kind and on OpenAI's wires."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import agents
import pytest
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message
from openai import AsyncOpenAI

from onevoice.adapters.agents.openai_agents import adapt_openai_agents
from onevoice.ports.agent import Agent
from tests.contracts.agent_contract import AgentContract
from tests.contracts.library_contract import BURSTS, INSTRUCTIONS, LibraryContract, book, cancel, slots
from tests.contracts.openai_faults import OPENAI_FAULTS


@pytest.fixture(autouse=True)
def no_tracing() -> Iterator[None]:
    """The SDK's traces would leave this machine."""
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


def _adapted(model: agents.Model) -> Agent:
    agent = agents.Agent(
        name="clinic",
        instructions=INSTRUCTIONS,
        model=model,
        tools=[function_tool(slots), function_tool(book), function_tool(cancel)],
    )
    return adapt_openai_agents("clinic:agent", agent, burst_instructions=BURSTS)


@asynccontextmanager
async def _on_responses(url: str) -> AsyncIterator[Agent]:
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="test-key", max_retries=0) as client:
        yield _adapted(OpenAIResponsesModel("test-model", client))


@asynccontextmanager
async def _on_chat(url: str) -> AsyncIterator[Agent]:
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="test-key", max_retries=0) as client:
        yield _adapted(OpenAIChatCompletionsModel("test-model", client))


class TestOwnModel(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        return _adapted(ScriptedModel([[assistant_message("Olá!")]] * 40))


class TestResponsesWire(LibraryContract):
    build = _on_responses
    faults = OPENAI_FAULTS


class TestChatWire(LibraryContract):
    build = _on_chat
    faults = OPENAI_FAULTS
