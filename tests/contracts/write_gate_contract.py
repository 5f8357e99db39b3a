"""What every write gate promises (ports/writes.py). A subclass adds a ``gate`` fixture."""

from __future__ import annotations

import asyncio

import pytest

from onevoice.errors import WriteArgumentsInvalid, WriteBlocksLoop, WriteRefused
from onevoice.ports.writes import WriteCall, WriteGate
from onevoice.vocabulary import EffectState

FRIDAY = WriteCall(tool="book", args={"day": "sexta"})
SAFE = WriteCall(tool="confirm", args={"day": "sexta"}, retry_safe=True)


class WriteGateContract:
    async def test_a_write_is_permitted_once_and_then_recorded(self, gate: WriteGate) -> None:
        """The second equal call gets the first one's result."""
        first = await gate.authorise(FRIDAY)
        await gate.finish(first, state=EffectState.DONE, result={"at": 9})
        again = await gate.authorise(FRIDAY)

        assert (first.state, first.is_late()) == (EffectState.STARTED, False)
        assert (again.state, again.result, again.key) == (EffectState.DONE, {"at": 9}, first.key)

    async def test_another_occurrence_is_another_write(self, gate: WriteGate) -> None:
        """Intended equal calls are told apart."""
        first = await gate.authorise(FRIDAY)
        other = await gate.authorise(
            WriteCall(tool="book", args={"day": "sexta"}, occurrence="for the second child")
        )

        assert other.state is EffectState.STARTED
        assert other.key != first.key

    async def test_a_failed_write_may_be_tried_again(self, gate: WriteGate) -> None:
        """What failed did not happen."""
        first = await gate.authorise(FRIDAY)
        await gate.finish(first, state=EffectState.FAILED, result="ValueError")

        assert (await gate.authorise(FRIDAY)).state is EffectState.STARTED

    async def test_an_equal_call_under_way_is_waited_for(self, gate: WriteGate) -> None:
        """Nobody starts a second one beside it."""
        first = await gate.authorise(FRIDAY)
        waiting = asyncio.create_task(gate.authorise(FRIDAY))
        await asyncio.wait([waiting], timeout=0.05)
        assert not waiting.done()
        await gate.finish(first, state=EffectState.DONE, result="booked")

        assert (await waiting).result == "booked"

    async def test_a_write_that_was_cut_is_not_repeated(self, gate: WriteGate) -> None:
        """Its outcome is unknown, unless it is safe to repeat."""
        gate.leave(await gate.authorise(FRIDAY))
        with pytest.raises(WriteRefused, match="outcome_unknown"):
            await gate.authorise(FRIDAY)
        gate.leave(await gate.authorise(SAFE))

        assert (await gate.authorise(SAFE)).state is EffectState.STARTED

    async def test_a_thread_may_ask(self, gate: WriteGate) -> None:
        """The answer is the same from a thread without a loop and from one with its own."""

        async def ask_and_finish(call: WriteCall) -> EffectState:
            permit = await gate.reach(gate.authorise(call))
            await gate.reach(gate.finish(permit, state=EffectState.DONE, result=None))
            return permit.state

        def ask_in_thread() -> EffectState:
            permit = gate.wait(gate.authorise(FRIDAY))
            gate.wait(gate.finish(permit, state=EffectState.DONE, result=None))
            return permit.state

        assert await asyncio.to_thread(ask_in_thread) is EffectState.STARTED
        in_loop = await asyncio.to_thread(lambda: asyncio.run(ask_and_finish(SAFE)))
        assert in_loop is EffectState.STARTED

    async def test_the_loop_itself_never_waits(self, gate: WriteGate) -> None:
        """A blocking question there would never be answered."""
        with pytest.raises(WriteBlocksLoop):
            gate.wait(gate.authorise(FRIDAY))

    async def test_what_is_no_json_is_refused(self, gate: WriteGate) -> None:
        """Two calls could not be compared."""
        with pytest.raises(WriteArgumentsInvalid):
            await gate.authorise(WriteCall(tool="book", args={"day": float("nan")}))
