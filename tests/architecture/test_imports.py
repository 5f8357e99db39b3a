"""The import contracts of pyproject.toml hold, and each of them breaks when it should."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.project import PACKAGE, ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """Lines added to modules of a copy of the package, and the contract that must notice."""

    contract: str
    lines: dict[str, str]


_PLANTS = [
    Plant(contract="inward", lines={"ports/planted.py": "import onevoice.store"}),
    Plant(contract="inward", lines={"store/planted.py": "import onevoice.flow"}),
    Plant(contract="inward", lines={"flow/planted.py": "import onevoice.adapters"}),
    Plant(contract="inward", lines={"adapters/planted.py": "import onevoice.flow"}),
    Plant(contract="inward", lines={"flow/planted.py": "import onevoice.app"}),
    Plant(contract="inward", lines={"app.py": "import onevoice.entrypoints"}),
    Plant(contract="inward", lines={"vocabulary.py": "import onevoice.ports"}),
    Plant(contract="inward", lines={"errors.py": "import onevoice.settings"}),
    Plant(contract="pure", lines={"flow/inbound/decide.py": "import time"}),
    Plant(contract="pure", lines={"flow/inbound/decide.py": "from random import random"}),
    Plant(contract="pure", lines={"vocabulary.py": "import asyncio"}),
    Plant(
        contract="pure",
        lines={"flow/planted.py": "import uuid", "flow/inbound/decide.py": "import onevoice.flow.planted"},
    ),
    Plant(contract="ports", lines={"ports/planted.py": "import onevoice.settings"}),
    Plant(contract="ports", lines={"ports/planted.py": "import httpx2"}),
    Plant(contract="driver", lines={"flow/planted.py": "import asyncpg"}),
    Plant(contract="driver", lines={"adapters/planted.py": "from asyncpg import Connection"}),
    Plant(contract="driver", lines={"app.py": "import asyncpg"}),
    Plant(contract="network", lines={"flow/planted.py": "import httpx2"}),
    Plant(contract="network", lines={"store/planted.py": "import fastapi"}),
    Plant(contract="siblings", lines={"adapters/clock.py": "import onevoice.adapters.chance"}),
    Plant(
        contract="channels",
        lines={
            "adapters/channels/planted_one.py": "import onevoice.adapters.channels.planted_two",
            "adapters/channels/planted_two.py": "",
        },
    ),
    Plant(contract="shipped", lines={"flow/planted.py": "import onevoice.testing"}),
]


@cache
def _contracts() -> dict[str, str]:
    """Names of the contracts by their ids."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {entry["id"]: entry["name"] for entry in settings["tool"]["importlinter"]["contracts"]}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that a test may spoil."""
    shutil.copytree(
        PACKAGE, tmp_path / "onevoice", ignore=shutil.ignore_patterns("__pycache__", "*.sql", "static")
    )
    return tmp_path


def test_the_package_keeps_every_contract(copy: Path) -> None:
    """No module of the package imports against the direction."""
    finished = _lint(copy)

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert set(_contracts().values()) == _judged(finished.stdout, "KEPT")


@pytest.mark.parametrize("plant", _PLANTS, ids=lambda plant: f"{plant.contract}-{'-'.join(plant.lines)}")
def test_a_planted_import_breaks_its_contract(plant: Plant, copy: Path) -> None:
    """The contract notices the import it was written for."""
    for name, line in plant.lines.items():
        module = copy / "onevoice" / name
        module.parent.mkdir(parents=True, exist_ok=True)
        before = module.read_text(encoding="utf-8") if module.exists() else ""
        module.write_text(f"{before}\n{line}\n", encoding="utf-8")

    finished = _lint(copy)

    assert finished.returncode != 0
    assert _contracts()[plant.contract] in _judged(finished.stdout, "BROKEN")


def test_every_contract_has_a_plant() -> None:
    """A contract that nothing was seen to break proves nothing."""
    assert set(_contracts()) == {plant.contract for plant in _PLANTS}


def _judged(output: str, verdict: str) -> set[str]:
    return {line.partition(f" {verdict}")[0] for line in output.splitlines() if f" {verdict}" in line}


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", str(ROOT / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
