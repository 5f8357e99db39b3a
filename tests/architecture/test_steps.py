"""A step is a room that holds all of it: what it decides, what it does, the SQL it does it with."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.project import PACKAGE, parsed, shown

_STEPS = sorted(path for path in (PACKAGE / "flow").iterdir() if path.is_dir() and path.name != "__pycache__")
_QUERIES = sorted(PACKAGE.rglob("queries.sql"))
_NAME = re.compile(r"^-- name: (\w+)", re.MULTILINE)
_WRITES_SQL = re.compile(
    r"^\s*(select\s.+\sfrom|insert\s+into|update\s+\w+\s+set|delete\s+from|with\s+\w+\s+as)\s", re.I
)


def test_the_path_is_visible() -> None:
    """The folders of the flow are the steps of the path."""
    assert {"inbound", "turn", "gate", "outbox", "triage", "authority"} <= {step.name for step in _STEPS}


@pytest.mark.parametrize("step", _STEPS, ids=lambda step: step.name)
def test_a_step_has_its_three_files(step: Path) -> None:
    """What it decides is apart from what it does and from the SQL it does it with."""
    expected = {"__init__.py", "decide.py", "perform.py", "queries.sql"}

    assert sorted(expected - {path.name for path in step.iterdir()}) == []


@pytest.mark.parametrize("queries", _QUERIES, ids=shown)
def test_each_statement_is_used_and_each_use_exists(queries: Path) -> None:
    """No dead statement, and no name that fails only when its line is reached."""
    names = _NAME.findall(queries.read_text(encoding="utf-8"))

    used = {name for module in queries.parent.glob("*.py") for name in _statement_uses(parsed(module))}

    assert names
    assert sorted(set(names)) == sorted(used)


@pytest.mark.parametrize("queries", _QUERIES, ids=shown)
def test_each_statement_says_why(queries: Path) -> None:
    """Below the name stands at least one line of comment."""
    blocks = re.split(r"^-- name: ", queries.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    silent = [block.split()[0] for block in blocks if not block.splitlines()[1].startswith("-- ")]

    assert silent == []


def test_sql_stands_in_sql_files() -> None:
    """Outside the store's own plumbing no Python string holds a statement."""
    inside = [
        f"{shown(path)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.is_relative_to(PACKAGE / "store")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WRITES_SQL.match(node.value)
    ]

    assert inside == []


def _statement_uses(tree: ast.AST) -> set[str]:
    """Names in `SQL["name"]`, or in `statements["name"]` where they are loaded when needed."""
    return {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"SQL", "statements"}
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }
