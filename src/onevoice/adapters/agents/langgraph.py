"""Compiled graphs of LangGraph whose state has ``messages``: each turn is a thread of its own.

The turn stands in ``config["configurable"]["turn"]``, and in the runtime's context where the graph's ``context_schema``
is ``TurnContext``. A compiled graph takes no more tools: give it ``onevoice.handoff`` when you build it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph  # pyright: ignore[reportMissingTypeStubs] - Typed inline.

from onevoice.adapters.agents.answer import as_proposal
from onevoice.adapters.agents.library import LibraryAgent, total_usage
from onevoice.adapters.agents.provider_error import refusal
from onevoice.adapters.agents.turn_text import BurstPart, added_instructions, burst_parts, past_turns
from onevoice.errors import AgentError
from onevoice.settings.attribute import attribute_fault
from onevoice.vocabulary import Proposal, TurnContext, Usage

Graph = CompiledStateGraph[Any, Any, Any, Any]
_REFUSED = frozenset({"refusal", "content_filter"})


def adapt_langgraph(use: str, graph: Graph, *, burst_instructions: str) -> LibraryAgent:
    """Raises ``ConfigurationError`` for a graph whose state has no ``messages``."""
    # The library's own types are partly unknown to a strict reader.
    channels: object = cast("Any", graph).channels
    if "messages" not in cast("dict[str, object]", channels):
        raise attribute_fault(
            "agent.use",
            use,
            "is a graph without messages in its state",
            "build it on MessagesState, or name an async function that calls it",
        )
    return LibraryAgent(use, _LangGraph(use, graph, burst_instructions))


class _LangGraph:
    def __init__(self, name: str, graph: Graph, burst_instructions: str) -> None:
        self._name = name
        # The state and the saver are whatever the user's graph makes of them.
        self._graph: Any = graph
        saver: Any = self._graph.checkpointer
        self._saver: Any = saver if isinstance(saver, BaseCheckpointSaver) else None
        self._burst_instructions = burst_instructions
        self._numbers = count(1)

    async def run(self, context: TurnContext) -> Proposal:
        thread_id = f"{context.turn_id}-{next(self._numbers)}"
        config: RunnableConfig = {"configurable": {"thread_id": thread_id, "turn": context}}
        asked = self._messages(context)
        try:
            state: dict[str, Any] = await self._graph.ainvoke(
                {"messages": asked}, config, **self._context(context)
            )
        finally:
            # The past comes with every turn, so that nothing of a thread is needed again.
            if self._saver is not None:
                await self._saver.adelete_thread(thread_id)
        if "__interrupt__" in state:
            raise AgentError(
                "agent_bad_answer",
                f"the graph {self._name} waits for an interrupt; use @onevoice.writes(confirm=...) instead",
                retry=False,
            )
        return self._proposal(state["messages"], {message.id for message in asked})

    async def close(self) -> None:
        return None

    def _context(self, context: TurnContext) -> dict[str, Any]:
        return {"context": context} if self._graph.context_schema is TurnContext else {}

    def _messages(self, context: TurnContext) -> list[AnyMessage]:
        messages: list[AnyMessage] = []
        added = added_instructions(context, self._burst_instructions)
        if added:
            messages.append(SystemMessage(added))
        for turn in past_turns(context):
            if turn.role == "user":
                messages.append(HumanMessage(_parts(turn.texts)))
            else:
                messages += [AIMessage(text) for text in turn.texts]
        messages.append(HumanMessage(_parts(burst_parts(context))))
        # Ids of our own tell afterwards what the graph has added.
        return [
            message.model_copy(update={"id": f"{context.turn_id}-{position}"})
            for position, message in enumerate(messages)
        ]

    def _proposal(self, messages: Sequence[AnyMessage], asked: set[str | None]) -> Proposal:
        said = [message for message in messages if isinstance(message, AIMessage) and message.id not in asked]
        text = said[-1].text if said and not said[-1].tool_calls else ""
        if said and not text.strip() and _is_refusal(said[-1]):
            raise refusal(self._name)
        return replace(as_proposal(self._name, str(text)), usage=_usage(said))


def _parts(parts: Sequence[BurstPart]) -> list[str | dict[str, Any]]:
    return [_part(part) for part in parts]


def _part(part: BurstPart) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "base64": part.base64, "mime_type": part.mime_type}


def _is_refusal(message: AIMessage) -> bool:
    told = message.response_metadata
    return bool(message.additional_kwargs.get("refusal")) or bool(
        _REFUSED & {told.get("stop_reason"), told.get("finish_reason")}
    )


def _usage(said: Sequence[AIMessage]) -> Usage | None:
    tokens: dict[str, tuple[int, int]] = {}
    for message in said:
        used = message.usage_metadata
        if used is None:
            continue
        told = message.response_metadata
        model = str(told.get("model_name") or told.get("model") or "unknown")
        read, written = tokens.get(model, (0, 0))
        tokens[model] = (read + used["input_tokens"], written + used["output_tokens"])
    return total_usage(tokens)
