"""The README in two languages: the same in all but its words."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from onevoice.settings import Settings
from onevoice.telemetry import DEFINITIONS
from tests.architecture.project import ROOT
from tests.docs.page import Page

_ENGLISH = Page(ROOT / "README.md")
_PORTUGUESE = Page(ROOT / "README.pt-BR.md")
_HEADINGS = {
    "onevoice": "onevoice",
    "The problem": "O problema",
    "The path of a message": "O caminho de uma mensagem",
    "Try it": "Experimente",
    "What it guarantees": "O que ele garante",
    "What it does not": "O que ele não garante",
    "Choose the window": "Escolha a janela",
    "Connect your agent": "Conecte o seu agente",
    "Connect a WhatsApp number": "Conecte um número de WhatsApp",
    "Operators": "Atendentes",
    "Read on": "Leia mais",
}


def test_both_have_the_same_headings() -> None:
    """A section that is missing in one language is found at once."""
    english = [(section.level, section.heading) for section in _ENGLISH.sections]
    portuguese = [(section.level, section.heading) for section in _PORTUGUESE.sections]

    assert english == [(1 if number == 0 else 2, heading) for number, heading in enumerate(_HEADINGS)]
    assert portuguese == [(level, _HEADINGS[heading]) for level, heading in english]


def test_both_have_the_same_commands_and_snippets() -> None:
    """Only drawings differ: their words are translated."""

    def kept(page: Page) -> list[object]:
        return [block for block in page.blocks if block.language != "text"]

    assert kept(_ENGLISH) == kept(_PORTUGUESE)
    assert [block.language for block in _ENGLISH.blocks] == [block.language for block in _PORTUGUESE.blocks]


@pytest.mark.parametrize("place", range(len(_HEADINGS)), ids=list(_HEADINGS))
def test_both_say_the_same_in_each_section(place: int) -> None:
    """The same names in code style, links, lists and tables; the other language's page is the one exception."""
    english, portuguese = _ENGLISH.sections[place], _PORTUGUESE.sections[place]

    assert english.inline_code == portuguese.inline_code
    assert english.shape == portuguese.shape
    ours = [link for link in english.links if link != "README.pt-BR.md"]
    theirs = [link for link in portuguese.links if link != "README.md"]
    assert ours == theirs


def test_the_defaults_it_names_are_the_defaults() -> None:
    """The window's table and the cap agree with the settings."""
    turns = Settings().turns

    assert f"default {turns.debounce_seconds:g}" in _ENGLISH.text
    assert f"padrão {turns.debounce_seconds:g}" in _PORTUGUESE.text
    for page in (_ENGLISH, _PORTUGUESE):
        assert f"`max_wait_seconds` ({turns.max_wait_seconds:g})" in page.text


def test_the_metrics_it_names_exist() -> None:
    """A metric in the documentation is one of those that are exposed."""
    names = {definition.name for definition in DEFINITIONS}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for path in pages:
        for name in re.findall(r"(?<!-)\bonevoice_(\w+?)\b(?=[`{])", path.read_text(encoding="utf-8")):
            assert {name, f"onevoice_{name}", name.removesuffix("_total")} & names, f"{path.name}: {name}"


@pytest.mark.parametrize("page", [_ENGLISH, _PORTUGUESE], ids=["english", "portuguese"])
def test_drawings_fit_a_page_and_their_frames_close(page: Page) -> None:
    """Each line of a drawing is at most 100 wide, and each box as wide as its lid."""
    for block in page.blocks:
        if block.language != "text":
            continue
        assert max(map(len, block.text.splitlines())) <= 100
        for lid, inside in re.findall(r"^ *(┌─+┐)\n *(│.*│)", block.text, re.MULTILINE):
            assert len(lid) == len(inside)


def test_make_knows_its_commands() -> None:
    """`make -n` accepts each make command of the documentation."""
    make = shutil.which("make")
    assert make is not None
    pages = [Page(path) for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]]
    commands = {
        command
        for page in pages
        for block in page.blocks
        if block.language == "sh"
        for command in block.commands
        if command.startswith("make ")
    }

    assert {"make demo", "make test"} <= commands
    for command in commands:
        done = subprocess.run(
            [make, "--dry-run", *command.split()[1:]], cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode == 0, command
