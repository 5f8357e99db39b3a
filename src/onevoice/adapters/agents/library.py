"""What the agents of all libraries have in common: the deadline, the handoff, errors, and a past that is too long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from onevoice.adapters.agents.provider_error import agent_error
from onevoice.errors import AgentError
from onevoice.handoff_tool import catch_handoff
from onevoice.vocabulary import Proposal, TurnContext, Usage

LOG = logging.getLogger("onevoice.agent")
TOO_LONG = "context_too_long"
FAILED = "agent_failed"


class Library(Protocol):
    """One agent of one library. ``run`` may raise whatever the library raises."""

    async def run(self, context: TurnContext) -> Proposal: ...

    async def close(self) -> None: ...


class LibraryAgent:
    """Implements ports/agent.py around a library's agent.

    Nothing of a run outlives it: each turn starts from the texts the customer saw, so a run that was cut leaves no
    tool call without its result.
    """

    in_process = True

    def __init__(self, name: str, library: Library) -> None:
        self.name = name
        self._library = library

    async def propose(self, context: TurnContext) -> Proposal:
        limit = asyncio.timeout(context.deadline_seconds)
        try:
            async with limit:
                return await self._ask(context)
        except Exception as error:
            if limit.expired():
                seconds = context.deadline_seconds
                raise AgentError(
                    "agent_timeout",
                    f"the agent {self.name} gave no answer within {seconds:g} s; it is asked again",
                ) from None
            failure = agent_error(self.name, error)
            if failure.reason == FAILED:
                LOG.warning(
                    "an agent raised",
                    extra={"turn_id": str(context.turn_id), "reason": type(error).__name__},
                    exc_info=error,
                )
            raise failure from error

    async def close(self) -> None:
        await self._library.close()

    async def _ask(self, context: TurnContext) -> Proposal:
        with catch_handoff() as caught:
            try:
                proposal = await self._library.run(context)
            except Exception as error:
                if not context.history or agent_error(self.name, error).reason != TOO_LONG:
                    raise
                # Once more with the newer half. Writes are safe to repeat: the gate returns what is recorded.
                shorter = replace(context, history=context.history[(len(context.history) + 1) // 2 :])
                proposal = await self._library.run(shorter)
        if caught.request is not None and proposal.handoff is None:
            return replace(proposal, handoff=caught.request)
        return proposal


def total_usage(tokens_by_model: Mapping[str, tuple[int, int]]) -> Usage | None:
    """The tokens of all models of a run, input and output; more than one model are named in one text."""
    if not tokens_by_model:
        return None
    return Usage(
        input_tokens=sum(tokens[0] for tokens in tokens_by_model.values()),
        output_tokens=sum(tokens[1] for tokens in tokens_by_model.values()),
        model=", ".join(tokens_by_model)[:200],
    )
