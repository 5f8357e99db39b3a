"""The deciders that are shipped keep the decider's contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from onevoice.adapters.triage.module import load_decider
from onevoice.adapters.triage.rules.decider import RulesDecider
from onevoice.errors import ConfigurationError
from onevoice.ports.triage import Decider
from onevoice.testing import ScriptedDecider
from tests.contracts.decider_contract import DeciderContract, a_request


class TestScripted(DeciderContract):
    @pytest.fixture
    def decider(self) -> Decider:
        return ScriptedDecider()


class TestRules(DeciderContract):
    @pytest.fixture
    def decider(self) -> Decider:
        return RulesDecider()


class TestFunction(DeciderContract):
    @pytest.fixture
    def decider(self, tmp_path: Path) -> Decider:
        (tmp_path / "merging_triage.py").write_text('async def decide(request):\n    return "merge"\n')
        return load_decider("merging_triage:decide", tmp_path)


async def test_an_answer_that_is_no_decision_is_an_error(tmp_path: Path) -> None:
    """Nonsense decides nothing: the hold ladder goes on."""
    (tmp_path / "odd_triage.py").write_text('async def decide(request):\n    return "maybe"\n')
    with pytest.raises(ValueError, match="maybe"):
        await load_decider("odd_triage:decide", tmp_path).decide(a_request("oi"))


def test_a_function_that_is_not_async_is_refused(tmp_path: Path) -> None:
    """The line names the key and what would be right."""
    (tmp_path / "sync_triage.py").write_text('def decide(request):\n    return "merge"\n')
    with pytest.raises(ConfigurationError, match=r"triage\.use.*async"):
        load_decider("sync_triage:decide", tmp_path)
