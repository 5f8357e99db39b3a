"""What an adapter adds to one turn, over calling its library directly: `python -m bench.agents`.

The models answer at once, so that only the code is measured. Both sides run in turns, and medians are compared.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from itertools import repeat

from onevoice.ports.agent import Agent
from onevoice.testing import make_turn_context

TARGET_MS = 2.0
TURNS = 200
WARM_UP = 20

BURST = ("queria marcar", "pra sexta")
PAST = [("customer", "oi"), ("assistant", "Olá! Em que posso ajudar?")] * 5
CONTEXT = make_turn_context(*BURST, history=PAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same agent twice: adapted, and called as its library's own documents show."""

    name: str
    adapted: Agent
    direct: Callable[[], Awaitable[object]]


def of_pydantic_ai() -> Pair:
    import pydantic_ai
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart
    from pydantic_ai.models.test import TestModel

    from onevoice.adapters.agents.pydantic_ai import adapt_pydantic_ai

    agent = pydantic_ai.Agent(TestModel(custom_output_text="Olá!"))
    past = [
        ModelRequest.user_text_prompt(text) if role == "customer" else ModelResponse([TextPart(text)])
        for role, text in PAST
    ]
    return Pair(
        name="pydantic-ai",
        adapted=adapt_pydantic_ai("bench:agent", agent, burst_instructions="Read them together."),
        direct=lambda: agent.run(list(BURST), message_history=past),
    )


def of_adk() -> Pair:
    from google.adk.agents import LlmAgent
    from google.adk.events import Event
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from onevoice.adapters.agents.adk import adapt_adk

    said = types.Content(role="model", parts=[types.Part(text="Olá!")])
    used = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)

    class Hello(BaseLlm):
        async def generate_content_async(
            self, llm_request: object, stream: bool = False
        ) -> AsyncGenerator[LlmResponse]:
            yield LlmResponse(content=said, usage_metadata=used)

    runner = InMemoryRunner(agent=LlmAgent(name="bench", model=Hello(model="hello")), app_name="bench")
    message = types.Content(role="user", parts=[types.Part(text=text) for text in BURST])

    async def direct() -> None:
        sessions = runner.session_service
        session = await sessions.create_session(app_name="bench", user_id="ana")
        for role, text in PAST:
            author = "user" if role == "customer" else "bench"
            content = types.Content(
                role="user" if role == "customer" else "model", parts=[types.Part(text=text)]
            )
            await sessions.append_event(session, Event(invocation_id="past", author=author, content=content))
        async for _ in runner.run_async(user_id="ana", session_id=session.id, new_message=message):
            continue
        await sessions.delete_session(app_name="bench", user_id="ana", session_id=session.id)

    agent = LlmAgent(name="bench", model=Hello(model="hello"))
    adapted = adapt_adk("bench:agent", agent, burst_instructions="Read them together.")
    return Pair(name="ADK", adapted=adapted, direct=direct)


def of_langgraph() -> Pair:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langgraph.graph import START, MessagesState, StateGraph

    from onevoice.adapters.agents.langgraph import adapt_langgraph

    past = [("user" if role == "customer" else "assistant", text) for role, text in PAST]
    model = GenericFakeChatModel(messages=repeat("Olá!"))

    async def call(state: MessagesState) -> dict[str, object]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("model", call).add_edge(START, "model").compile()
    return Pair(
        name="LangGraph",
        adapted=adapt_langgraph("bench:graph", graph, burst_instructions="Read them together."),
        direct=lambda: graph.ainvoke({"messages": [*past, ("user", " ".join(BURST))]}),
    )


def of_openai_agents() -> Pair:
    import agents
    from agents.testing import ScriptedModel, assistant_message

    from onevoice.adapters.agents.openai_agents import adapt_openai_agents

    agents.set_tracing_disabled(True)
    past = [{"role": "user" if role == "customer" else "assistant", "content": text} for role, text in PAST]
    steps = [[assistant_message("Olá!")] for _ in range(2 * (TURNS + WARM_UP))]
    agent = agents.Agent(name="bench", model=ScriptedModel(steps))
    return Pair(
        name="OpenAI Agents",
        adapted=adapt_openai_agents("bench:agent", agent, burst_instructions="Read them together."),
        direct=lambda: agents.Runner.run(agent, [*past, {"role": "user", "content": " ".join(BURST)}]),
    )


async def compare(pair: Pair) -> tuple[float, float]:
    """Medians in milliseconds: direct, adapted."""
    direct: list[float] = []
    adapted: list[float] = []
    for turn in range(TURNS + WARM_UP):
        for times, call in ((direct, pair.direct), (adapted, lambda: pair.adapted.propose(CONTEXT))):
            began = time.process_time()
            await call()
            if turn >= WARM_UP:
                times.append((time.process_time() - began) * 1000)
    await pair.adapted.close()
    return statistics.median(direct), statistics.median(adapted)


async def main() -> int:
    missed = False
    for build in (of_pydantic_ai, of_adk, of_langgraph, of_openai_agents):
        pair = build()
        direct, adapted = await compare(pair)
        kept = adapted - direct <= TARGET_MS
        missed = missed or not kept
        print(
            f"{pair.name:14} direct {direct:6.2f} ms, adapted {adapted:6.2f} ms, {adapted - direct:+.2f} ms"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
