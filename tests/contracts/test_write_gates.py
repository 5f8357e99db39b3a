"""The write gates that are shipped keep the gate's contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from onevoice.flow.effect.gate import open_write_gate
from onevoice.flow.proposal.perform import load_contexts
from onevoice.ports.writes import WriteGate
from onevoice.store.database import Database
from onevoice.testing import RecordingWriteGate
from tests.contracts.write_gate_contract import WriteGateContract
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection


class TestRecording(WriteGateContract):
    @pytest.fixture
    def gate(self) -> WriteGate:
        return RecordingWriteGate()


class TestTurn(WriteGateContract):
    @pytest.fixture
    async def gate(self, database: Database, owner: Connection) -> AsyncIterator[WriteGate]:
        stage = Stage(database, owner, {})
        await stage.customer("oi")
        await stage.clock.advance(5.0)
        (turn,) = await stage.claim()
        async with open_write_gate(stage.runtime, (await load_contexts(stage.runtime, [turn]))[0]) as gate:
            yield gate
