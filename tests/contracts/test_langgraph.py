"""LangGraph's compiled graphs keep the agent's contract, with the library's fake model and on OpenAI's chat wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import repeat

import httpx
import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr

import onevoice
from onevoice.adapters.agents.langgraph import Graph, adapt_langgraph
from onevoice.errors import ConfigurationError
from onevoice.ports.agent import Agent
from onevoice.testing import make_turn_context
from tests.contracts.agent_contract import AgentContract
from tests.contracts.library_contract import BURSTS, INSTRUCTIONS, LibraryContract, book, cancel, slots
from tests.contracts.openai_faults import OPENAI_FAULTS


def _graph_with(model: object, tools: list[object], checkpointer: InMemorySaver | None = None) -> Graph:
    """The usual loop: the model, its tools, and back."""

    async def call(state: MessagesState) -> dict[str, object]:
        return {"messages": [await model.ainvoke([SystemMessage(INSTRUCTIONS), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


class TestOwnModel(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        model = GenericFakeChatModel(messages=repeat("Olá!"))
        return adapt_langgraph("clinic:graph", _graph_with(model, [slots]), burst_instructions=BURSTS)


@asynccontextmanager
async def _on_the_wire(url: str) -> AsyncIterator[Agent]:
    async with httpx.AsyncClient() as http:
        model = ChatOpenAI(
            model="test-model",
            base_url=f"{url}/v1",
            api_key=SecretStr("test-key"),
            max_retries=0,
            http_async_client=http,
        )
        tools = [slots, book, cancel, onevoice.handoff]
        yield adapt_langgraph(
            "clinic:graph", _graph_with(model.bind_tools(tools), tools), burst_instructions=BURSTS
        )


class TestOpenAiWire(LibraryContract):
    build = _on_the_wire
    faults = OPENAI_FAULTS


async def test_no_thread_is_left_in_the_checkpointer() -> None:
    """Each turn is a thread of its own, and is forgotten when it ends."""
    saver = InMemorySaver()
    model = GenericFakeChatModel(messages=repeat("Olá!"))
    agent = adapt_langgraph("clinic:graph", _graph_with(model, [slots], saver), burst_instructions=BURSTS)

    await agent.propose(make_turn_context("oi"))
    await agent.propose(make_turn_context("oi"))

    assert [one async for one in saver.alist(None)] == []


def test_a_graph_without_messages_is_refused() -> None:
    """The line names the setting and what would be right."""
    graph = StateGraph(dict)
    graph.add_node("nothing", lambda state: state)
    graph.add_edge(START, "nothing")

    with pytest.raises(ConfigurationError, match=r"agent\.use.*MessagesState"):
        adapt_langgraph("clinic:graph", graph.compile(), burst_instructions=BURSTS)
