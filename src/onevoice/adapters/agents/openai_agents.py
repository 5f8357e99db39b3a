"""Agents of the OpenAI Agents SDK: history and burst as input items, the turn as the run's context.

The SDK's traces carry no customer's words, whatever its own default is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from agents import Agent, ModelResponse, RunConfig, Runner, TResponseInputItem, function_tool
from agents.run_config import CallModelData, ModelInputData

from onevoice.adapters.agents.answer import as_proposal
from onevoice.adapters.agents.library import LibraryAgent, total_usage
from onevoice.adapters.agents.turn_text import BurstPart, added_instructions, burst_parts, past_turns
from onevoice.errors import WriteRefused
from onevoice.handoff_tool import handoff
from onevoice.ports.writes import CURRENT_GATE
from onevoice.vocabulary import Proposal, TurnContext, Usage


def adapt_openai_agents(use: str, agent: Agent[Any], *, burst_instructions: str) -> LibraryAgent:
    """The agent is given the handoff tool, unless it has one of that name; the user's own is left as it is."""
    tool = function_tool(handoff)
    if tool.name not in {own.name for own in agent.tools}:
        agent = agent.clone(tools=[*agent.tools, tool])
    return LibraryAgent(use, _OpenAiAgents(use, agent, burst_instructions))


class _OpenAiAgents:
    def __init__(self, name: str, agent: Agent[Any], burst_instructions: str) -> None:
        self._name = name
        self._agent = agent
        self._burst_instructions = burst_instructions

    async def run(self, context: TurnContext) -> Proposal:
        added = added_instructions(context, self._burst_instructions)

        def add(data: CallModelData[Any]) -> ModelInputData:
            _end_after_refusal()
            own = data.model_data.instructions
            instructions = "\n\n".join(text for text in (own, added) if text)
            return ModelInputData(input=data.model_data.input, instructions=instructions or None)

        result = await Runner.run(
            self._agent,
            _items(context),
            context=context,
            run_config=RunConfig(
                call_model_input_filter=add,
                workflow_name="onevoice",
                group_id=str(context.conversation_id),
                trace_include_sensitive_data=False,
            ),
        )
        proposal = as_proposal(self._name, result.final_output)
        usage = proposal.usage or _usage(result.last_agent, result.raw_responses)
        return replace(proposal, usage=usage)

    async def close(self) -> None:
        return None


def _end_after_refusal() -> None:
    """The SDK tells its model to try a failed tool again; a refused write ends the turn instead."""
    gate = CURRENT_GATE.get()
    if gate is not None and gate.refusal is not None:
        raise WriteRefused(gate.refusal)


def _items(context: TurnContext) -> list[TResponseInputItem]:
    items: list[dict[str, object]] = []
    for turn in past_turns(context):
        if turn.role == "user":
            items.append({"role": "user", "content": _parts(turn.texts)})
        else:
            items.extend({"role": "assistant", "content": text} for text in turn.texts)
    items.append({"role": "user", "content": _parts(burst_parts(context))})
    return cast("list[TResponseInputItem]", items)


def _parts(parts: Sequence[BurstPart]) -> list[dict[str, str]]:
    return [_part(part) for part in parts]


def _part(part: BurstPart) -> dict[str, str]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    url = f"data:{part.mime_type};base64,{part.base64}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _usage(agent: Agent[Any], responses: Sequence[ModelResponse]) -> Usage | None:
    """The SDK does not say which model answered: the last agent's stands for all."""
    name: object = getattr(agent.model, "model", agent.model)
    tokens = (
        sum(response.usage.input_tokens for response in responses),
        sum(response.usage.output_tokens for response in responses),
    )
    return total_usage({str(name or "default"): tokens}) if responses else None
