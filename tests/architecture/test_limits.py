"""Sizes that one reader can hold in mind: files, functions and ports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.project import PACKAGE, parsed, python_files, shown

FILE_LINES_MAX = 600
FILE_LINES_ASKED = 400
FUNCTION_LINES_MAX = 60
PORT_METHODS_MAX = 7

# Files between the two limits, each with its answer to "why not two files?".
LONG_FILES: dict[str, str] = {
    "src/onevoice/vocabulary.py": "the words refer to each other, and nothing may stand below them",
}

_CODE = python_files("src", "tests", "bench", "examples", "scripts")


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("path", _CODE, ids=shown)
def test_a_file_stays_short(path: Path) -> None:
    """Above 400 lines a file needs a reason here; above 600 there is none."""
    count = _lines(path)

    assert count <= FILE_LINES_MAX, f"{shown(path)} has {count} lines: split it"
    assert count <= FILE_LINES_ASKED or shown(path) in LONG_FILES, (
        f"{shown(path)} has {count} lines: split it, or say in LONG_FILES why not"
    )


def test_no_reason_outlives_its_file() -> None:
    """A file that became short again needs no excuse."""
    stale = [
        name for name in LONG_FILES if all(shown(p) != name or _lines(p) <= FILE_LINES_ASKED for p in _CODE)
    ]

    assert stale == []


@pytest.mark.parametrize("path", _CODE, ids=shown)
def test_a_function_stays_short(path: Path) -> None:
    """A function fits on a screen."""
    long = [
        f"{node.name} ({_span(node)} lines)"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _span(node) > FUNCTION_LINES_MAX
    ]

    assert long == [], f"{shown(path)}: {', '.join(long)}"


def _span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the name to the end; decorators are not part of the thought."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_a_port_stays_narrow() -> None:
    """A port has few methods, so that a second implementation is cheap."""
    ports = [
        (node.name, [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)])
        for path in (PACKAGE / "ports").glob("*.py")
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(b, ast.Name) and b.id == "Protocol" for b in node.bases)
    ]

    assert len(ports) >= 6
    assert [name for name, methods in ports if len(methods) > PORT_METHODS_MAX] == []
