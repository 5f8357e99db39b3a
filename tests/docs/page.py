"""A page of the documentation, taken apart: headings, fenced blocks, inline code, links."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_FENCE = re.compile(r"^( *)```(\w+)(?: ([\w.-]+))?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block. ``name`` stands after its language: a file's name, or which part of a protocol it is."""

    language: str
    name: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block, without remarks."""
        lines = (line.partition(" # ")[0].strip() for line in self.text.splitlines())
        return [line for line in lines if line]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with what stands below it, down to the next heading."""

    level: int
    heading: str
    text: str

    @property
    def inline_code(self) -> set[str]:
        return set(re.findall(r"`([^`\n]+)`", _FENCE.sub("", self.text)))

    @property
    def links(self) -> list[str]:
        return re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", self.text))

    @property
    def shape(self) -> list[str]:
        """How its lines begin: numbers, dashes and table rows."""
        return re.findall(r"^(\d+\.|-|\|)", _FENCE.sub("", self.text), re.MULTILINE)


class Page:
    """One Markdown file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        return [
            Block(language=language, name=name or "", text=textwrap.dedent(text))
            for _, language, name, text in _FENCE.findall(self.text)
        ]

    @cached_property
    def sections(self) -> list[Section]:
        # A remark inside a fence begins like a heading.
        fenced = [match.span() for match in _FENCE.finditer(self.text)]
        headings = [
            match
            for match in re.finditer(r"^(#+) (.+)$", self.text, re.MULTILINE)
            if not any(start <= match.start() < end for start, end in fenced)
        ]
        ends = [*(heading.start() for heading in headings[1:]), len(self.text)]
        return [
            Section(level=len(heading[1]), heading=heading[2], text=self.text[heading.end() : end])
            for heading, end in zip(headings, ends, strict=True)
        ]
