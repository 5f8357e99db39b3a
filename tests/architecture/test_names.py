"""Names and texts that the project does without."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from onevoice.log_format import SAFE_FIELDS
from tests.architecture.project import PACKAGE, ROOT, parsed, python_files, shown, tracked_files

_EMPTY_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "managers",
    "base",
    "misc",
    "shared",
}

# Written so that this file does not match itself.
_ADDRESSES = re.compile(
    "|".join([
        r"py[p]i\.(org|python)", r"python[h]osted\.org", r"npm[j]s\.(org|com)", r"--(extra-)?index[-]url",
        r"find[-]links", r"deb\.debian[.]org", r"file:/[/]", r"/wo[r]k/", r"/ho[m]e/\w+/", r"/ro[o]t/",
    ])
)  # fmt: skip
_UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|Not[I]mplementedError)\b")
_MARKERS = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)

_TEXTS = [path for path in tracked_files() if path.suffix not in {".png", ".ico", ".woff2", ".ogg", ".webp"}]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", python_files("src", "tests", "bench", "examples", "scripts"), ids=shown)
def test_a_module_is_named_after_what_it_is(path: Path) -> None:
    """A name such as utils says nothing about what belongs there."""
    words = {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.split("_")}

    assert words & _EMPTY_NAMES == set()


def test_no_file_names_a_registry_or_a_place_on_one_machine() -> None:
    """Where packages come from is the machine's own business."""
    found = [f"{shown(path)}: {match[0]}" for path in _TEXTS for match in _ADDRESSES.finditer(_text(path))]

    assert found == []


def test_requirements_are_pinned_by_hash() -> None:
    """Every line of a requirements file is a pin or one of its hashes."""
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = _text(ROOT / name).splitlines()
        odd = [
            line
            for line in lines
            if not re.match(r"([\w.-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?)$", line)
        ]

        assert lines
        assert odd == []


def test_the_two_requirements_files_agree() -> None:
    """What the tests run on is what runs in production."""
    pins = [
        set(re.findall(r"^(\S+==\S+)", _text(ROOT / name), re.MULTILINE))
        for name in ("requirements.txt", "requirements-dev.txt")
    ]

    assert pins[0] <= pins[1]


@pytest.mark.parametrize("path", python_files("src", "tests", "scripts", "bench", "examples"), ids=shown)
def test_nothing_is_left_for_later(path: Path) -> None:
    """A note for later belongs into an issue; a stub into no file."""
    assert [match[0] for match in _UNFINISHED.finditer(_text(path))] == []


def test_no_conflict_marker_is_left() -> None:
    """A merge was finished."""
    assert [shown(path) for path in _TEXTS if path.suffix != ".md" and _MARKERS.search(_text(path))] == []


def test_what_a_log_line_names_may_be_shown() -> None:
    """A field that is not marked safe shows as hidden: the line would say that something failed, and not what."""
    hidden = [
        f"{shown(path)}:{node.value.lineno} {key.value}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.keyword) and node.arg == "extra" and isinstance(node.value, ast.Dict)
        for key in node.value.keys
        if isinstance(key, ast.Constant) and key.value not in SAFE_FIELDS
    ]

    assert hidden == []
