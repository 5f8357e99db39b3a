"""``agent.use`` recognises the agents of other libraries by type, and costs nothing where none is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from onevoice.adapters.agents.library import LibraryAgent
from onevoice.adapters.agents.module import load_agent
from onevoice.errors import ConfigurationError
from onevoice.testing import make_turn_context

LIBRARIES = (
    "agents",
    "anthropic",
    "google.adk",
    "google.genai",
    "langchain_core",
    "langgraph",
    "openai",
    "pydantic_ai",
)

PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from onevoice import TurnContext

agent = Agent(TestModel(custom_output_text="Olá!"))
of_the_turn = Agent(TestModel(custom_output_text="Olá!"), deps_type=TurnContext)
of_a_database = Agent(TestModel(), deps_type=dict)
"""
ADK = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class Hello(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Olá!")]))

agent = LlmAgent(name="orders", model=Hello(model="hello"))
app = App(name="orders", root_agent=LlmAgent(name="orders", model=Hello(model="hello")))
"""
LANGGRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

async def hello(state):
    return {"messages": [AIMessage("Olá!")]}

graph = StateGraph(MessagesState).add_node("hello", hello).add_edge(START, "hello").compile()
"""
OPENAI_AGENTS = """
from agents import Agent, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

set_tracing_disabled(True)
agent = Agent(name="clinic", model=ScriptedModel([[assistant_message("Olá!")]]))
"""
MODULES = {"lib_pydantic": PYDANTIC_AI, "lib_adk": ADK, "lib_graph": LANGGRAPH, "lib_openai": OPENAI_AGENTS}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name, source in MODULES.items():
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "use",
    [
        "lib_pydantic:agent",
        "lib_pydantic:of_the_turn",
        "lib_adk:agent",
        "lib_adk:app",
        "lib_graph:graph",
        "lib_openai:agent",
    ],
)
async def test_a_librarys_agent_answers(use: str, folder: Path) -> None:
    """What the user's module names is adapted by its type, and keeps the name it was given."""
    agent = load_agent(use, folder)
    try:
        proposal = await agent.propose(make_turn_context("oi"))
    finally:
        await agent.close()

    assert isinstance(agent, LibraryAgent)
    assert agent.name == use
    assert [message.text for message in proposal.messages] == ["Olá!"]


def test_an_agent_that_needs_other_dependencies_is_refused(folder: Path) -> None:
    """The line says what would be right."""
    with pytest.raises(ConfigurationError, match=r"needs deps of the type dict; use deps_type=TurnContext"):
        load_agent("lib_pydantic:of_a_database", folder)


@pytest.mark.parametrize(
    ("missed", "extra"),
    [
        ("pydantic_ai", "pydantic-ai"),
        ("google.adk", "adk"),
        ("langgraph", "langgraph"),
        ("agents", "openai-agents"),
    ],
)
def test_a_missing_extra_is_one_sentence(
    missed: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the command that installs it."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, missed, None)
    monkeypatch.delitem(sys.modules, "lib_missing", raising=False)
    (tmp_path / "lib_missing.py").write_text(f"import {missed}\n")

    with pytest.raises(ConfigurationError) as failure:
        load_agent("lib_missing:agent", tmp_path)

    [line] = failure.value.faults
    assert f'"{missed}", which is not installed; pip install "onevoice[{extra}]"' in line


def test_importing_onevoice_imports_no_agent_library() -> None:
    """Neither the public names nor the whole server load a library that no configuration names."""
    code = (
        "import sys, onevoice, onevoice.app, onevoice.testing, onevoice.entrypoints.cli\n"
        "onevoice.handoff, onevoice.writes\n"
        f"print([name for name in {LIBRARIES!r} if name in sys.modules])\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert finished.stdout == "[]\n"
