"""Named SQL statements.

A `queries.sql` holds blocks that start with `-- name: word`; the comment lines below it say why.
A statement keeps its whole block, so that the server's own views and logs show its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_NAME_LINE = re.compile(r"^-- name: ([a-z][a-z0-9_]*)(?: :[a-z]+)?\s*$")
_FILE_NAME = "queries.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One named statement; `source` is the file it was read from."""

    name: str
    sql: str
    source: str


class Statements:
    """The statements of one file, by name."""

    def __init__(self, statements: dict[str, Statement], *, source: str) -> None:
        self._statements = statements
        self.source = source

    def __getitem__(self, name: str) -> Statement:
        try:
            return self._statements[name]
        except KeyError:
            raise KeyError(f"{self.source} has no statement named {name}") from None

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._statements.values())

    def __len__(self) -> int:
        return len(self._statements)


def parse_statements(text: str, *, source: str) -> Statements:
    """Split a file into its statements; a fault raises ValueError with file and line."""
    statements: dict[str, Statement] = {}
    block: list[str] = []
    name: str | None = None

    def finish() -> None:
        if name is not None:
            statements[name] = _statement(name, block, source=source)

    for number, line in enumerate(text.splitlines(), start=1):
        match = _NAME_LINE.match(line)
        if match:
            finish()
            name, block = match.group(1), [line]
            if name in statements:
                raise ValueError(f"{source}:{number}: a second statement is named {name}")
        elif line.lstrip().startswith("-- name:"):
            raise ValueError(f"{source}:{number}: a name line is `-- name: lower_case_words`")
        elif name is not None:
            block.append(line)
        elif line.strip() and not line.startswith("--"):
            raise ValueError(f"{source}:{number}: SQL before the first `-- name:` line")
    finish()
    return Statements(statements, source=source)


def load_statements(package_or_path: str | Path | None) -> Statements:
    """Read the `queries.sql` of a package (usually `__package__`), or the file at a path."""
    if isinstance(package_or_path, Path):
        return parse_statements(package_or_path.read_text(encoding="utf-8"), source=str(package_or_path))
    if not package_or_path:
        raise ValueError("load_statements needs a package name or a path")
    text = files(package_or_path).joinpath(_FILE_NAME).read_text(encoding="utf-8")
    return parse_statements(text, source=f"{package_or_path.replace('.', '/')}/{_FILE_NAME}")


def all_statements() -> list[Statement]:
    """Every named statement of the product, file by file."""
    root = files("onevoice")
    return [statement for loaded in _walk(root, "onevoice") for statement in loaded]


def _walk(folder: Traversable, path: str) -> Iterator[Statements]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{path}/{entry.name}")
        elif entry.name == _FILE_NAME:
            yield parse_statements(entry.read_text(encoding="utf-8"), source=f"{path}/{_FILE_NAME}")


def _statement(name: str, block: list[str], *, source: str) -> Statement:
    if not any(line.strip() and not line.lstrip().startswith("--") for line in block):
        raise ValueError(f"{source}: statement {name} has no SQL")
    return Statement(name=name, sql="\n".join(block).rstrip(), source=source)
