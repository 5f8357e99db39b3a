"""``agent.use = "module:attribute"``: what is taken, and the line for what is not."""

import asyncio
import sys
from pathlib import Path

import pytest

from onevoice.adapters.agents.module import FunctionAgent, load_agent
from onevoice.errors import AgentError, ConfigurationError
from onevoice.testing import make_turn_context
from onevoice.vocabulary import OutgoingMessage, Proposal, TurnContext

BOT = """
import functools
from onevoice.vocabulary import OutgoingMessage, Proposal

async def answer(context):
    return Proposal(messages=(OutgoingMessage(text=context.messages[0].text.upper()),), wrote=True)

async def plain(context): return "texto"
async def silent(context): return "  "
async def number(context): return 3
async def configured(greeting, context): return greeting
partly = functools.partial(configured, "bom dia")
def blocking(context): return "texto"
async def nothing(): return "texto"
async def two(context, other): return "texto"
async def stream(context): yield "texto"
city = "Aurora"

class Callable:
    async def __call__(self, context): return "chamado"
called = Callable()

class Whole:
    name, in_process = "whole", True
    async def propose(self, context): return Proposal(silence_reason="whole")
    async def close(self): pass
whole = Whole()

class Half:
    name = "half"
    async def propose(self, context): return Proposal()
half = Half()

class Blocking(Whole):
    def propose(self, context): return Proposal()
blocking_agent = Blocking()

class Shelf:
    agent = whole
shelf = Shelf()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of a user; the import path and the loaded modules are put back afterwards."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in ("bot_under_test", "broken_bot", "needy_bot", "crooked_bot"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "bot_under_test.py").write_text(BOT)
    (tmp_path / "broken_bot.py").write_text("token = 'hunter2'\nraise ValueError(token)\n")
    (tmp_path / "needy_bot.py").write_text("import a_library_nobody_has\n")
    (tmp_path / "crooked_bot.py").write_text("x = 1\ndef answer(:\n")
    return tmp_path


def line_of(use: str, folder: Path) -> str:
    with pytest.raises(ConfigurationError) as failure:
        load_agent(use, folder)
    [line] = failure.value.faults
    assert line.startswith(f'agent.use: "{use}" ')
    return line


async def test_a_function_that_returns_a_proposal_is_an_agent(folder: Path) -> None:
    """The proposal goes through as it is."""
    agent = load_agent("bot_under_test:answer", folder)

    assert await agent.propose(make_turn_context("oi")) == Proposal(
        messages=(OutgoingMessage(text="OI"),), wrote=True
    )
    assert (agent.name, agent.in_process) == ("bot_under_test:answer", True)


@pytest.mark.parametrize(
    ("attribute", "text"), [("plain", "texto"), ("partly", "bom dia"), ("called", "chamado")]
)
async def test_a_text_is_a_proposal_of_one_message(folder: Path, attribute: str, text: str) -> None:
    """Functions, partial functions and callable objects may return a str."""
    proposal = await load_agent(f"bot_under_test:{attribute}", folder).propose(make_turn_context("oi"))

    assert proposal == Proposal(messages=(OutgoingMessage(text=text),))


async def test_a_blank_text_is_a_silence(folder: Path) -> None:
    """An agent that returns nothing but space says nothing."""
    assert await load_agent("bot_under_test:silent", folder).propose(make_turn_context("oi")) == Proposal()


@pytest.mark.parametrize("attribute", ["whole", "shelf.agent"])
async def test_an_object_that_implements_agent_is_taken_as_it_is(folder: Path, attribute: str) -> None:
    """An agent is not wrapped; dots lead into attributes."""
    agent = load_agent(f"bot_under_test:{attribute}", folder)

    assert agent.name == "whole"
    assert (await agent.propose(make_turn_context("oi"))).silence_reason == "whole"


def test_the_configurations_folder_comes_first_on_the_path(folder: Path) -> None:
    """A user's module wins over one of the same name that is installed."""
    load_agent("bot_under_test:answer", folder)

    assert sys.path[0] == str(folder.resolve())


@pytest.mark.parametrize(
    ("use", "found", "right"),
    [
        ("bot_under_test", "is no reference", 'write "module:attribute"'),
        ("bot_under_test:", "is no reference", 'write "module:attribute"'),
        (":answer", "is no reference", 'write "module:attribute"'),
        ("bot-under-test:answer", "is no reference", 'write "module:attribute"'),
        ("bot_undr_test:answer", 'a module "bot_undr_test" that is not there', "bot_undr_test.py"),
        ("package_x.bot:answer", 'a module "package_x" that is not there', "package_x/bot.py"),
        ("bot_under_test:anwser", 'finds no "anwser" in', 'did you mean "answer"?'),
        ("bot_under_test:zzz", 'finds no "zzz" in', "async def answer(context: TurnContext)"),
        ("bot_under_test:city", "is a str, which cannot be called", "async def answer"),
        ("bot_under_test:blocking", "is not async", "async def answer"),
        ("bot_under_test:stream", "is not async", "async def answer"),
        ("bot_under_test:nothing", "does not take exactly one argument", "async def answer"),
        ("bot_under_test:two", "does not take exactly one argument", "async def answer"),
        ("bot_under_test:Whole", "is the class Whole", "name an instance"),
        ("bot_under_test:half", "no in_process and no close", "implement Agent completely"),
        ("bot_under_test:blocking_agent", "has a propose that is not async", "async def propose"),
        ("needy_bot:answer", 'imports "a_library_nobody_has", which is not installed', "needy_bot.py:1"),
        ("broken_bot:answer", "cannot be imported: ValueError", "mend that line"),
        ("crooked_bot:answer", "cannot be imported: SyntaxError", "crooked_bot.py:2"),
    ],
)
def test_what_cannot_be_an_agent_says_what_would_be_right(
    folder: Path, use: str, found: str, right: str
) -> None:
    """One line: the key, what was found, what would be right."""
    line = line_of(use, folder)

    assert found in line
    assert right in line.partition(found)[2]


def test_a_secret_of_the_users_module_is_not_echoed(folder: Path) -> None:
    """An error at import is told by type and place, never by its own words."""
    line = line_of("broken_bot:answer", folder)

    assert "hunter2" not in line
    assert "broken_bot.py:2" in line


async def test_another_return_type_is_a_bad_answer(folder: Path) -> None:
    """A function that returns something else is told which types are right."""
    with pytest.raises(AgentError, match="returned int; return a Proposal or a str") as failure:
        await load_agent("bot_under_test:number", folder).propose(make_turn_context("oi"))

    assert failure.value.reason == "agent_bad_answer"


async def test_an_agents_own_error_goes_through() -> None:
    """An agent may raise AgentError itself, for example with retry false."""

    async def answer(context: TurnContext) -> str:
        raise AgentError("quota_spent", retry=False)

    with pytest.raises(AgentError) as failure:
        await FunctionAgent("bot:answer", answer).propose(make_turn_context("oi"))

    assert (failure.value.reason, failure.value.retry) == ("quota_spent", False)


async def test_a_function_is_stopped_at_the_turns_deadline() -> None:
    """A function that does not end is cancelled and told as a time-out."""
    cancelled = asyncio.Event()

    async def answer(context: TurnContext) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    with pytest.raises(AgentError) as failure:
        await FunctionAgent("bot:answer", answer).propose(make_turn_context("oi", deadline_seconds=0.01))

    assert failure.value.reason == "agent_timeout"
    assert cancelled.is_set()


@pytest.mark.parametrize("error", [TimeoutError(), SystemExit(2)])
async def test_what_the_function_raises_is_its_own_failure(error: BaseException) -> None:
    """A TimeoutError before the deadline is no time-out of the turn, and an exit no end of the server."""

    async def answer(context: TurnContext) -> str:
        raise error

    with pytest.raises(AgentError) as failure:
        await FunctionAgent("bot:answer", answer).propose(make_turn_context("oi"))

    assert failure.value.reason == "agent_failed"
