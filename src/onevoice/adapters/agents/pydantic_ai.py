"""Agents of pydantic-ai: the history as its own messages, the burst as one prompt with a part per message.

An agent whose ``deps_type`` is ``TurnContext`` finds the turn in ``ctx.deps``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ReinjectSystemPrompt
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.toolsets import FunctionToolset

from onevoice.adapters.agents.answer import as_proposal
from onevoice.adapters.agents.library import LibraryAgent, total_usage
from onevoice.adapters.agents.turn_text import BurstPart, added_instructions, burst_parts, past_turns
from onevoice.handoff_tool import handoff
from onevoice.settings.attribute import attribute_fault
from onevoice.vocabulary import Proposal, TurnContext, Usage

HANDOFF = handoff.__name__


def adapt_pydantic_ai(use: str, agent: Agent[Any, Any], *, burst_instructions: str) -> LibraryAgent:
    """Raises ``ConfigurationError`` for an agent that needs other dependencies than the turn."""
    deps_type: object = agent.deps_type
    if deps_type not in (object, type(None), TurnContext):
        named = getattr(deps_type, "__name__", str(deps_type))
        raise attribute_fault(
            "agent.use",
            use,
            f"needs deps of the type {named}",
            "use deps_type=TurnContext, or name an async function that runs the agent with its deps",
        )
    return LibraryAgent(use, _PydanticAi(use, agent, burst_instructions))


class _PydanticAi:
    def __init__(self, name: str, agent: Agent[Any, Any], burst_instructions: str) -> None:
        self._name = name
        self._agent = agent
        self._burst_instructions = burst_instructions
        has_own = any(HANDOFF in getattr(toolset, "tools", {}) for toolset in agent.toolsets)
        self._toolsets = [] if has_own else [FunctionToolset[Any]([handoff])]

    async def run(self, context: TurnContext) -> Proposal:
        result = await self._agent.run(
            [_content(part) for part in burst_parts(context)],
            message_history=_history(context),
            instructions=added_instructions(context, self._burst_instructions) or None,
            toolsets=self._toolsets,
            # With a history the library takes the agent's system prompt to be in it already.
            capabilities=[ReinjectSystemPrompt()],
            deps=context,
        )
        proposal = as_proposal(self._name, result.output)
        return _with_usage(proposal, result.new_messages())

    async def close(self) -> None:
        return None


def _content(part: BurstPart) -> str | BinaryContent:
    return part if isinstance(part, str) else BinaryContent(part.content, media_type=part.mime_type)


def _history(context: TurnContext) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(content=list(turn.texts))])
        if turn.role == "user"
        else ModelResponse(parts=[TextPart(text) for text in turn.texts])
        for turn in past_turns(context)
    ]


def _with_usage(proposal: Proposal, messages: list[ModelMessage]) -> Proposal:
    return replace(proposal, usage=proposal.usage or _usage(messages))


def _usage(messages: list[ModelMessage]) -> Usage | None:
    tokens: dict[str, tuple[int, int]] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            model = message.model_name or "unknown"
            read, written = tokens.get(model, (0, 0))
            tokens[model] = (read + message.usage.input_tokens, written + message.usage.output_tokens)
    return total_usage(tokens)
