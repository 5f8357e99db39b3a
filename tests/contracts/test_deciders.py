"""The deciders that are shipped keep the decider's contract."""

import pytest

from onevoice.ports.triage import Decider
from onevoice.testing import ScriptedDecider
from tests.contracts.decider_contract import DeciderContract


class TestScripted(DeciderContract):
    @pytest.fixture
    def decider(self) -> Decider:
        return ScriptedDecider()
