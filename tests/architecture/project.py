"""What the architecture tests look at: the tracked files and the parsed modules of this project."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "onevoice"
STEPS = ("inbound", "turn", "proposal", "effect", "gate", "outbox", "triage", "authority")


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the project, new ones included, ignored ones not.

    Outside a git checkout (a source archive) every file below the source folders counts.
    """
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
        return tuple(path for name in names if (path := ROOT / name).is_file())
    folders = [ROOT / name for name in ("src", "tests", "docs", "scripts", "bench", "examples", ".ci")]
    inside = [path for folder in folders if folder.is_dir() for path in folder.rglob("*")]
    return tuple(
        path for path in [*ROOT.glob("*"), *inside] if path.is_file() and "__pycache__" not in path.parts
    )


def python_files(*folders: str) -> list[Path]:
    """Python files below the named folders of the project."""
    roots = [ROOT / folder for folder in folders]
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and any(path.is_relative_to(r) for r in roots)
    ]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path) -> str:
    """The path as a reader of a failure wants it."""
    return path.relative_to(ROOT).as_posix()
