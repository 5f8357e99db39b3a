"""Agents of Google's ADK: a session per turn, filled with the past, and the burst as its new message.

The session's state holds ``contact_id``, ``contact_name`` and ``channel``, for instructions such as ``{contact_name?}``
and for tools. Plain functions run in threads, so that a write tool may be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from itertools import count

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types

from onevoice.adapters.agents.answer import as_proposal
from onevoice.adapters.agents.library import LibraryAgent, total_usage
from onevoice.adapters.agents.provider_error import ProviderFault, classify, refusal
from onevoice.adapters.agents.turn_text import BurstPart, added_instructions, burst_parts, past_turns
from onevoice.errors import AgentError
from onevoice.handoff_tool import handoff
from onevoice.vocabulary import Proposal, TurnContext, Usage

TOOL_THREADS_MAX = 32
_REFUSALS = frozenset({"BLOCKLIST", "OTHER", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII"})
_ADDED: ContextVar[str] = ContextVar("onevoice_adk_instructions", default="")


def adapt_adk(use: str, found: BaseAgent | App, *, burst_instructions: str) -> LibraryAgent:
    """An agent, or an ``App`` with its own plugins."""
    app = found if isinstance(found, App) else App(name="onevoice", root_agent=found)
    return LibraryAgent(use, _Adk(use, app, burst_instructions))


class _Additions(BasePlugin):
    """Adds to each request what the adapter has to say, and the handoff tool unless the agent has its own."""

    def __init__(self) -> None:
        super().__init__(name="onevoice")
        self._handoff = FunctionTool(handoff)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        added = _ADDED.get()
        if added:
            llm_request.append_instructions([added])
        if self._handoff.name not in llm_request.tools_dict:
            llm_request.append_tools([self._handoff])


class _Adk:
    def __init__(self, name: str, app: App, burst_instructions: str) -> None:
        self._name = name
        self._app = app.model_copy(update={"plugins": [*app.plugins, _Additions()]})
        self._burst_instructions = burst_instructions
        self._sessions = InMemorySessionService()
        self._numbers = count(1)
        self._runner = Runner(app=self._app, session_service=self._sessions)
        self._run_config = RunConfig(
            tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS_MAX)
        )

    async def run(self, context: TurnContext) -> Proposal:
        session_id = f"{context.turn_id}-{next(self._numbers)}"
        await self._open_session(context, session_id)
        token = _ADDED.set(added_instructions(context, self._burst_instructions))
        try:
            events = self._runner.run_async(
                user_id=context.contact_id,
                session_id=session_id,
                new_message=_content("user", burst_parts(context)),
                run_config=self._run_config,
            )
            heard = _Heard(self._name)
            async with aclosing(events):
                async for event in events:
                    heard.take(event)
            return heard.proposal()
        finally:
            _ADDED.reset(token)
            await self._sessions.delete_session(
                app_name=self._app.name, user_id=context.contact_id, session_id=session_id
            )

    async def close(self) -> None:
        await self._runner.close()

    async def _open_session(self, context: TurnContext, session_id: str) -> None:
        session = await self._sessions.create_session(
            app_name=self._app.name,
            user_id=context.contact_id,
            session_id=session_id,
            state={
                "contact_id": context.contact_id,
                "contact_name": context.contact_name,
                "channel": context.channel,
            },
        )
        root = self._app.root_agent
        author = root.name if root is not None else self._app.name
        for turn in past_turns(context):
            is_user = turn.role == "user"
            await self._sessions.append_event(
                session,
                Event(
                    invocation_id="past",
                    author="user" if is_user else author,
                    content=_content("user" if is_user else "model", turn.texts),
                ),
            )


class _Heard:
    """What a run has said so far: the last complete answer counts, the usage of all models is added up."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = ""
        self._error: AgentError | None = None
        self._tokens: dict[str, tuple[int, int]] = {}

    def take(self, event: Event) -> None:
        self._count(event)
        text = _text(event)
        if event.error_code and not text:
            # Where the model raised, the run raises the same after this event, and says more.
            self._error = _error(self._name, event)
        if event.is_final_response() and text:
            self._text = text

    def proposal(self) -> Proposal:
        if self._error is not None and not self._text:
            raise self._error
        return replace(as_proposal(self._name, self._text), usage=self._usage())

    def _count(self, event: Event) -> None:
        used = event.usage_metadata
        if used is None or event.partial:
            return
        model = event.model_version or "unknown"
        read, written = self._tokens.get(model, (0, 0))
        thought = used.thoughts_token_count or 0
        self._tokens[model] = (
            read + (used.prompt_token_count or 0),
            written + (used.candidates_token_count or 0) + thought,
        )

    def _usage(self) -> Usage | None:
        return total_usage(self._tokens)


def _content(role: str, parts: Sequence[BurstPart]) -> types.Content:
    return types.Content(role=role, parts=[_part(part) for part in parts])


def _part(part: BurstPart) -> types.Part:
    if isinstance(part, str):
        return types.Part(text=part)
    return types.Part(inline_data=types.Blob(data=part.content, mime_type=part.mime_type))


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _error(name: str, event: Event) -> AgentError:
    code = str(event.error_code).rpartition(".")[2]
    if code in _REFUSALS:
        return refusal(name)
    if code.isdigit():
        return classify(ProviderFault(status=int(code), said=event.error_message or ""))
    return AgentError("agent_failed", f"the model of {name} ended with {code[:64]}; the agent is asked again")
