"""The agents that are shipped keep the agent's contract."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from onevoice.adapters.agents.demo.agent import DemoAgent
from onevoice.adapters.agents.echo import EchoAgent
from onevoice.adapters.agents.http import HttpAgent
from onevoice.adapters.agents.module import FunctionAgent, load_agent
from onevoice.errors import AgentError
from onevoice.ports.agent import Agent
from onevoice.testing import AgentAnswer, LoopbackAgent, ManualClock, ScriptedAgent
from onevoice.vocabulary import Proposal, TurnContext
from tests.contracts.agent_contract import AgentContract, FailingAgentContract


class TestEcho(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        return EchoAgent()


class TestDemo(AgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        return DemoAgent(think_seconds=0.0, sleep=ManualClock().sleep)


class TestFunction(AgentContract, FailingAgentContract):
    @pytest.fixture
    def agent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
        monkeypatch.setattr(sys, "path", sys.path.copy())
        (tmp_path / "contract_bot.py").write_text("async def answer(context):\n    return 'Olá!'\n")
        return load_agent("contract_bot:answer", tmp_path)

    @pytest.fixture
    def failing_agent(self) -> Agent:
        async def answer(context: TurnContext) -> Proposal | str:
            raise KeyError(context.messages[0].text)

        return FunctionAgent("bot:answer", answer)


class TestHttp(AgentContract, FailingAgentContract):
    @pytest.fixture
    async def agent(self) -> AsyncIterator[Agent]:
        answer = {"messages": [{"text": "Olá!"}], "confidence": 0.5}
        async with LoopbackAgent(otherwise=answer) as server, httpx2.AsyncClient() as http:
            yield HttpAgent(url=server.url, secret=None, timeout_seconds=5, http=http)

    @pytest.fixture
    async def failing_agent(self) -> AsyncIterator[Agent]:
        async with LoopbackAgent(otherwise=AgentAnswer(status=500)) as server, httpx2.AsyncClient() as http:
            yield HttpAgent(url=server.url, secret=None, timeout_seconds=5, http=http)


class TestScripted(AgentContract, FailingAgentContract):
    @pytest.fixture
    def agent(self) -> Agent:
        return ScriptedAgent(otherwise="Olá!")

    @pytest.fixture
    def failing_agent(self) -> Agent:
        return ScriptedAgent(otherwise=AgentError("agent_http_500"))
