"""Agents written by the user: ``"module:attribute"`` becomes an agent, or a line saying what would be right.

What an attribute may be is decided in ``_as_agent`` alone: an agent of a library that is adapted, an object that
implements ports/agent.py, or an ``async (TurnContext) -> Proposal | str``. A library is known by the name of the module
its class comes from, so that it is imported only where the user's own module has done so.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from onevoice.adapters.agents.answer import as_proposal
from onevoice.errors import AgentError, ConfigurationError
from onevoice.handoff_tool import catch_handoff
from onevoice.ports.agent import Agent
from onevoice.settings.attribute import attribute_fault, import_attribute
from onevoice.settings.sections import AgentSettings
from onevoice.vocabulary import Proposal, TurnContext

AgentFunction = Callable[[TurnContext], Awaitable[Proposal | str]]

_WANTED = "an `async def answer(context: TurnContext) -> Proposal | str`, or an object that implements Agent"


class FunctionAgent:
    """Implements ports/agent.py around a plain async function."""

    in_process = True

    def __init__(self, name: str, answer: AgentFunction) -> None:
        self.name = name
        self._answer = answer

    async def propose(self, context: TurnContext) -> Proposal:
        limit = asyncio.timeout(context.deadline_seconds)
        try:
            with catch_handoff() as caught:
                async with limit:
                    answer: object = await self._answer(context)
        except AgentError:
            raise
        # What was a command once exits, and must not end the server.
        except (Exception, SystemExit) as error:
            if limit.expired():
                seconds = context.deadline_seconds
                raise AgentError(
                    "agent_timeout",
                    f"the agent {self.name} gave no answer within {seconds:g} s; it is asked again",
                ) from None
            raise AgentError(
                "agent_failed",
                f"the agent {self.name} raised {type(error).__name__}; see the cause's traceback",
            ) from error
        proposal = as_proposal(self.name, answer)
        if caught.request is not None and proposal.handoff is None:
            return replace(proposal, handoff=caught.request)
        return proposal

    async def close(self) -> None:
        return None


def load_agent(
    use: str, folder: Path, *, burst_instructions: str = AgentSettings().burst_instructions
) -> Agent:
    """Import ``use`` with ``folder`` first on the path; raises ``ConfigurationError`` with one line.

    ``burst_instructions`` is what an adapted library's agent is told about bursts, after its own instructions.
    """
    found = import_attribute("agent.use", use, folder, wanted=_WANTED)
    return _adapted(use, found, burst_instructions) or _as_agent(use, found)


def _adapted(use: str, found: object, burst_instructions: str) -> Agent | None:
    """An agent of a library that onevoice adapts; the library is imported already, for it has made ``found``."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(found).__mro__}
    if ("pydantic_ai", "AbstractAgent") in kinds:
        from onevoice.adapters.agents.pydantic_ai import adapt_pydantic_ai

        return adapt_pydantic_ai(use, cast("Any", found), burst_instructions=burst_instructions)
    if kinds & {("google", "BaseAgent"), ("google", "App")}:
        from onevoice.adapters.agents.adk import adapt_adk

        return adapt_adk(use, cast("Any", found), burst_instructions=burst_instructions)
    if ("langgraph", "CompiledStateGraph") in kinds:
        from onevoice.adapters.agents.langgraph import adapt_langgraph

        return adapt_langgraph(use, cast("Any", found), burst_instructions=burst_instructions)
    if ("agents", "AgentBase") in kinds:
        from onevoice.adapters.agents.openai_agents import adapt_openai_agents

        return adapt_openai_agents(use, cast("Any", found), burst_instructions=burst_instructions)
    return None


def _as_agent(use: str, found: object) -> Agent:
    if inspect.isclass(found):
        raise _fault(use, f"is the class {found.__name__}", "name an instance of it: `agent = …()`")
    if hasattr(found, "propose"):
        return _implemented_agent(use, found)
    if not callable(found):
        raise _fault(use, f"is a {type(found).__name__}, which cannot be called", f"name {_WANTED}")
    if not _is_async(found):
        raise _fault(use, "is not async", f"name {_WANTED}")
    if not _takes_one_argument(found):
        raise _fault(use, "does not take exactly one argument", f"name {_WANTED}")
    return FunctionAgent(use, cast("AgentFunction", found))


def _implemented_agent(use: str, found: object) -> Agent:
    missing = [name for name in ("name", "in_process", "close") if not hasattr(found, name)]
    if missing:
        raise _fault(use, f"has propose, but no {' and no '.join(missing)}", "implement Agent completely")
    for method in ("propose", "close"):
        if not _is_async(getattr(found, method)):
            raise _fault(use, f"has a {method} that is not async", f"make it `async def {method}`")
    return cast("Agent", found)


def _is_async(found: object) -> bool:
    call: object = getattr(type(found), "__call__", None)  # noqa: B004 - The class's own, to see if it is async.
    return inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(call)


def _takes_one_argument(found: Callable[..., object]) -> bool:
    try:
        inspect.signature(found).bind(None)
    except TypeError:
        return False
    return True


def _fault(use: str, found: str, right: str) -> ConfigurationError:
    return attribute_fault("agent.use", use, found, right)
