"""docs/agents.md says what the adapters do, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from onevoice.adapters.agents.provider_error import ProviderFault, agent_error, classify, refusal
from onevoice.adapters.agents.turn_text import OPERATOR_MARK
from tests.architecture.project import ROOT

_PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


def _reasons() -> set[str]:
    """Every reason a provider's error can have."""
    statuses = [400, 401, 402, 404, 413, 429, 500, 503, 529]
    found = {classify(ProviderFault(status=status, said="")).reason for status in statuses}
    return (
        found
        | {agent_error("bot", error).reason for error in (KeyError(), ConnectionResetError())}
        | {refusal("bot").reason}
    )


def test_the_page_names_every_reason_and_no_other() -> None:
    """What stands in a journal is found in the table."""
    table = _PAGE[_PAGE.index("| reason in the journal") : _PAGE.index("Most SDKs retry")]
    named = set(
        re.findall(
            r"`([a-z_]+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "|" in line)
        )
    )

    assert named == _reasons() | {"agent_timeout"}
    assert OPERATOR_MARK in _PAGE


def test_the_page_names_the_extras_that_exist() -> None:
    """Each command installs an extra of pyproject.toml, and each extra is named."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project[project.index("[project.optional-dependencies]") : project.index("[project.scripts]")]

    assert set(re.findall(r'pip install "onevoice\[([a-z-]+)\]"', _PAGE)) == set(
        re.findall(r"^([a-z-]+) = ", extras, re.MULTILINE)
    )


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    """The agent imports without a key, and the test on the wire passes."""
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)

    assert len(blocks) == 2
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True)
