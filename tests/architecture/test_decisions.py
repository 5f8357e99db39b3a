"""Decisions are pure: the same facts and the same instant give the same record."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.project import PACKAGE, parsed, shown

_PURE_LIBRARY = {
    "__future__", "bisect", "collections", "dataclasses", "datetime", "decimal", "enum", "functools",
    "hashlib", "heapq", "itertools", "json", "math", "operator", "re", "string", "types", "typing",
    "unicodedata", "zoneinfo",
}  # fmt: skip
_PURE_PROJECT = ("onevoice.vocabulary", "onevoice.errors", "onevoice.ports", "onevoice.flow.gate.policy")
_READS_THE_CLOCK = {"now", "utcnow", "today"}

_DECISIONS = sorted([*(PACKAGE / "flow").rglob("decide.py"), PACKAGE / "flow" / "gate" / "policy.py"])


def test_there_are_decisions() -> None:
    """The rules below look at something."""
    assert len(_DECISIONS) >= 3


@pytest.mark.parametrize("path", _DECISIONS, ids=shown)
def test_a_decision_imports_only_what_is_pure(path: Path) -> None:
    """Words, errors, the ports' records and other decisions; never a clock, a loop, chance or the store."""
    impure = [name for name in _imports(parsed(path)) if not _is_pure(name)]

    assert impure == []


@pytest.mark.parametrize("path", _DECISIONS, ids=shown)
def test_a_decision_never_reads_a_clock_or_waits(path: Path) -> None:
    """`now` is a fact like any other, and nothing in a decision is awaited."""
    faults = [
        f"line {node.lineno}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _READS_THE_CLOCK
        )
    ]

    assert faults == []


@pytest.mark.parametrize(
    ("source", "pure"),
    [
        ("from datetime import datetime", True),
        ("from onevoice.vocabulary import TurnId", True),
        ("from onevoice.flow.turn.decide import choose", True),
        ("import time", False),
        ("from asyncio import sleep", False),
        ("from uuid import uuid4", False),
        ("import onevoice.store", False),
        ("from onevoice.flow.turn import perform", False),
        ("import asyncpg", False),
    ],
)
def test_the_rule_tells_pure_from_impure(source: str, pure: bool) -> None:
    """The rule itself is tried on both sides."""
    assert all(_is_pure(name) for name in _imports(ast.parse(source))) is pure


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def _is_pure(name: str) -> bool:
    if name.startswith(_PURE_PROJECT):
        return True
    if name.startswith("onevoice.flow."):
        return name.endswith(".decide")
    return name.partition(".")[0] in _PURE_LIBRARY
