"""The documentation does what it says: its commands are run in the order of a reader, its snippets are used."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from onevoice.adapters.agents.module import load_agent
from onevoice.adapters.agents.protocol import decode_proposal, encode_context
from onevoice.settings import load_settings
from onevoice.testing import make_turn_context
from onevoice.vocabulary import EffectState, Media, MediaId, MediaKind, MediaState, UntoldEffect
from tests.architecture.project import ROOT
from tests.cli.command import run_command
from tests.cli.patient import Graph, graph
from tests.docs.page import Block, Page

_PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "first-five-minutes.md",
    ROOT / "docs" / "connect-your-agent.md",
    ROOT / "docs" / "connect-whatsapp.md",
    ROOT / "docs" / "operate.md",
]
_SECRETS = {
    "AGENT_SECRET": "agent-secret-planted",
    "WHATSAPP_ACCESS_TOKEN": "access-token-planted",
    "WHATSAPP_APP_SECRET": "app-secret-planted",
    "WHATSAPP_APP_SECRET_OLD": "app-secret-planted-before",
    "WHATSAPP_VERIFY_TOKEN": "verify-token-planted",
}
_NUMBER = {"verified_name": "Loja", "display_phone_number": "+55 11 3000-0000", "quality_rating": "GREEN"}
# Commands that cannot be run here: they are looked at elsewhere, by `make --dry-run` and by the compose files' test.
_ELSEWHERE = {"make", "docker"}


def _blocks(language: str, name: str = "") -> list[Any]:
    return [
        pytest.param(block, id=f"{path.stem}-{number}")
        for path in _PAGES
        for number, block in enumerate(Page(path).blocks)
        if block.language == language and name in ("", block.name)
    ]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("path", _PAGES, ids=lambda path: path.stem)
async def test_a_page_can_be_followed(path: Path, tmp_path: Path) -> None:
    """Files are written and commands run as they stand there, one after the other, in one folder."""
    async with graph(200, _NUMBER) as platform:
        for block in Page(path).blocks:
            if block.language in ("toml", "python"):
                text = _pointed_at(platform, block.text) if block.language == "toml" else block.text
                (tmp_path / block.name).write_text(text, encoding="utf-8")
            elif block.language == "sh":
                for command in block.commands:
                    await asyncio.to_thread(_run, tmp_path, command)


@pytest.mark.parametrize("path", [*_PAGES, ROOT / "docs" / "how-it-works.md"], ids=lambda path: path.stem)
def test_every_block_is_of_a_kind_that_is_checked(path: Path) -> None:
    """A block in another language, or without a name where it needs one, would be checked by nothing."""
    for block in Page(path).blocks:
        assert block.language in {"sh", "toml", "python", "json", "text"}
        assert bool(block.name) == (block.language in {"toml", "python", "json"})
    assert Page(path).text.count("```") == 2 * len(Page(path).blocks)


@pytest.mark.parametrize("block", _blocks("toml"))
def test_a_configuration_loads(block: Block, tmp_path: Path) -> None:
    """As it stands there, with the secrets in the environment."""
    file = tmp_path / block.name
    file.write_text(block.text, encoding="utf-8")

    assert load_settings(file, _SECRETS).channels


@pytest.mark.parametrize("block", _blocks("json", "request"))
def test_a_request_is_what_an_agent_is_sent(block: Block) -> None:
    """The same keys, in each part, as the protocol writes."""
    context = make_turn_context(
        "oi",
        history=[("customer", "oi")],
        effects=[UntoldEffect(tool="book", args={}, state=EffectState.DONE)],
    )
    sent = json.loads(encode_context(context, deadline_seconds=60))

    shown = json.loads(block.text)

    assert set(shown) == set(sent)
    for part in ("turn", "conversation"):
        assert set(shown[part]) == set(sent[part])
    for part in ("history", "messages"):
        assert set(shown[part][0]) == set(sent[part][0])


@pytest.mark.parametrize("block", _blocks("json", "message"))
def test_a_message_with_a_file_is_what_an_agent_is_sent(block: Block) -> None:
    """The same keys, of the message and of its file."""
    spare = make_turn_context("oi").messages[0]
    media = Media(id=MediaId(spare.id), kind=MediaKind.IMAGE, state=MediaState.STORED)
    context = make_turn_context(replace(spare, media=media))
    [sent] = json.loads(encode_context(context, deadline_seconds=60))["messages"]

    shown = json.loads(block.text)

    assert (set(shown), set(shown["media"])) == (set(sent), set(sent["media"]))


@pytest.mark.parametrize("block", _blocks("json", "answer"))
def test_an_answer_is_one_that_is_taken(block: Block) -> None:
    """It becomes a proposal with everything it says."""
    shown = json.loads(block.text)

    proposal = decode_proposal(block.text.encode())

    assert [message.text for message in proposal.messages] == [item["text"] for item in shown["messages"]]
    assert (proposal.handoff is not None) == ("handoff" in shown)
    assert proposal.confidence == shown["confidence"]


@pytest.mark.parametrize("block", _blocks("python", "bot.py"))
async def test_an_agent_answers(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function is found and its answer is a proposal."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "bot", raising=False)
    (tmp_path / "bot.py").write_text(block.text, encoding="utf-8")
    agent = load_agent("bot:answer", tmp_path)

    proposal = await agent.propose(make_turn_context("oi", "queria marcar"))
    monkeypatch.delitem(sys.modules, "bot")

    assert proposal.messages


async def test_the_agent_of_the_readme_hands_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract is for a colleague."""
    (block,) = [block for block in Page(ROOT / "README.md").blocks if block.name == "bot.py"]
    answer = _module(block, tmp_path).answer

    proposal = await answer(make_turn_context("about", "my contract"))

    assert proposal.handoff.reason == "customer_request"
    assert await answer(make_turn_context("a", "b")) == "You said: a b"


def test_the_signature_is_the_one_that_is_sent(tmp_path: Path) -> None:
    """The shown check accepts our signature and no other."""
    (block,) = [
        block
        for block in Page(ROOT / "docs" / "connect-your-agent.md").blocks
        if block.name == "signature.py"
    ]
    is_signed = _module(block, tmp_path).is_signed
    header = "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"

    assert is_signed(b"The quick brown fox jumps over the lazy dog", header, "key")
    assert not is_signed(b"The quick brown fox jumps over the lazy dog", header, "other")
    assert not is_signed(b"another body", header, "key")


def _pointed_at(platform: Graph, text: str) -> str:
    """The same configuration with the outside world on loopback."""
    text = text.replace("https://agent.example.com/answer", f"{platform.url}/answer")
    return text.replace('kind = "whatsapp"', f'kind = "whatsapp"\ngraph_url = "{platform.url}"')


def _run(folder: Path, command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "docker" and "exec" in arguments:
        # What is run inside the container is run here.
        program, *arguments = arguments[arguments.index("app") + 1 :]
    if program in _ELSEWHERE:
        return
    assert program in (".venv/bin/onevoice", "onevoice"), command
    if arguments[0] == "serve":
        _serve(folder, arguments)
        return
    finished = run_command(folder, *arguments, environ=_SECRETS, seconds_max=120)
    assert finished.status == 0, f"{command}: {finished.out}{finished.err}"


def _serve(folder: Path, arguments: list[str]) -> None:
    """Until it is ready, and to its clean end; on a free port instead of the one that is named."""
    if "--port" in arguments:
        place = arguments.index("--port")
        del arguments[place : place + 2]
    out = folder / "serve-out"
    with out.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "onevoice", *arguments, "--port", "0"],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", **_SECRETS},
            stdout=stream,
            stderr=subprocess.PIPE,
        )
    try:
        for _ in range(2000):
            if "ready" in out.read_text() or process.poll() is not None:
                break
            threading.Event().wait(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    assert "ready" in out.read_text(), err.decode()
    assert not re.search("Traceback", err.decode())


def _module(block: Block, folder: Path) -> ModuleType:
    file = folder / block.name
    file.write_text(block.text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"shown_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = cast("ModuleType", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module
