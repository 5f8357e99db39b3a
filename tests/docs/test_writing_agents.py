"""The examples of docs/writing-agents.md do what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from onevoice.adapters.agents.module import load_agent
from onevoice.flow.effect.decide import WRITE_SECONDS_MAX
from onevoice.store.database import Database
from onevoice.vocabulary import EffectState
from tests.architecture.project import ROOT
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection

_PAGE = (ROOT / "docs" / "writing-agents.md").read_text(encoding="utf-8")
_AGENT, _TEST = re.findall(r"^```python\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent's file beside a configuration."""
    (tmp_path / "clinic.py").write_text(_AGENT, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "clinic", raising=False)
    return tmp_path


async def test_the_agent_books_once_and_tells(folder: Path, database: Database, owner: Connection) -> None:
    """The page's agent, loaded by its name and played on a real database."""
    stage = Stage(database, owner, {})
    stage.runtime = replace(stage.runtime, agent=load_agent("clinic:answer", folder))
    await stage.customer("Friday, please")
    await stage.after(5.0)
    (effect,) = await stage.rows("effect")
    diary: Any = sys.modules["clinic"]

    assert stage.sent == ["Friday is booked. See you then!"]
    assert diary.DIARY == ["Friday"]
    assert (effect["tool"], effect["state"]) == ("book", EffectState.DONE)


def test_the_test_of_the_page_passes(folder: Path) -> None:
    """A reader may copy it as it is."""
    subprocess.run([sys.executable, "-c", _TEST], cwd=folder, check=True)


def test_the_page_names_what_the_code_does() -> None:
    """The deadline, every reason of a refusal, and the two reasons of a handoff."""
    assert f"{WRITE_SECONDS_MAX:g} s" in _PAGE
    for word in ("newer_message", "authority_revoked", "outcome_unknown", "effect_outcome_unknown"):
        assert word in _PAGE
    assert "write_not_approved" in _PAGE
