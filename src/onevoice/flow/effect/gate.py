"""The gate of one turn whose agent runs in this process (ports/writes.py)."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from onevoice.errors import (
    DatabaseUnavailable,
    EffectSettled,
    EffectUnknown,
    OnevoiceError,
    WriteBlocksLoop,
    WriteRefused,
)
from onevoice.flow.effect.approval import await_approval, take_back
from onevoice.flow.effect.decide import TURN_OVER, WRITE_SECONDS_MAX, effect_key
from onevoice.flow.effect.perform import Authorised, authorise, check_call, finish
from onevoice.flow.runtime import Runtime
from onevoice.ports.writes import CURRENT_GATE, Permit, WriteCall
from onevoice.vocabulary import AccountId, EffectId, EffectState, TurnContext, TurnId

LOG = logging.getLogger("onevoice.effect")
UNAVAILABLE_SECONDS = 0.5
CLOSE_SECONDS_MAX = 2.0

MISUSED = "misused"
GATE_UNAVAILABLE = "gate_unavailable"

T = TypeVar("T")


class TurnWriteGate:
    """``refusal`` is the first refusal of the turn: whatever its agent answers afterwards is not believed."""

    def __init__(self, runtime: Runtime, *, turn: TurnId, account: AccountId) -> None:
        self.refusal: str | None = None
        self._runtime = runtime
        self._turn = turn
        self._account = account
        self._loop = asyncio.get_running_loop()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._pending: set[asyncio.Task[Any]] = set()
        self._asking_count = 0
        self._has_begun = False

    async def authorise(self, call: WriteCall) -> Permit:
        check_call(call)
        key = effect_key(call.tool, call.args, call.occurrence)
        # Equal calls at once: the later ones wait, and find the first one's result.
        lock = self._locks[key]
        await lock.acquire()
        try:
            return await self._authorise(call)
        except BaseException:
            lock.release()
            raise

    async def finish(self, permit: Permit, *, state: EffectState, result: object) -> None:
        """Goes on when the caller is cut: the tool has run, and its outcome is worth more than the turn."""
        try:
            await asyncio.shield(self._spawn(self._finish(permit, state, result)))
        finally:
            self.leave(permit)

    def leave(self, permit: Permit) -> None:
        lock = self._locks[permit.key]
        if _running_loop() is self._loop:
            lock.release()
        else:
            self._loop.call_soon_threadsafe(lock.release)

    def refuse(self, reason: str) -> WriteRefused:
        if self.refusal is None:
            self.refusal = reason
        return WriteRefused(reason)

    async def reach(self, asked: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self._loop:
            return await asked
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    def wait(self, asked: Coroutine[Any, Any, T]) -> T:
        if _running_loop() is self._loop:
            asked.close()
            self.refuse(MISUSED)
            raise WriteBlocksLoop
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    async def close(self) -> None:
        """The agent has answered or was cut: outcomes on their way are recorded first."""
        if self._pending:
            _, late = await asyncio.wait(self._pending, timeout=CLOSE_SECONDS_MAX)
            for task in late:
                task.cancel()
        self._runtime.begun_writes.note(self._turn, begun=False)

    async def _authorise(self, call: WriteCall) -> Permit:
        monotonic = self._runtime.clock.monotonic
        # The stopwatch starts before the question is asked: the database's deadline can only be later than ours.
        since = monotonic()
        deadline = since + WRITE_SECONDS_MAX
        authorised = await self._ask(call)
        if authorised.state is EffectState.AWAITING:
            deadline, authorised = await self._await_approval(authorised, since)
        if authorised.effect is None or authorised.state is EffectState.REFUSED:
            raise self.refuse(authorised.reason or TURN_OVER)
        self._has_begun = True
        self._note(asking=0)
        permit = Permit(
            effect=authorised.effect,
            key=authorised.key,
            state=authorised.state,
            result=authorised.result,
            is_late=lambda: monotonic() >= deadline,
        )
        if authorised.state is EffectState.DONE:
            self.leave(permit)
        return permit

    async def _ask(self, call: WriteCall) -> Authorised:
        self._note(asking=1)
        asking = self._spawn(authorise(self._runtime, self._turn, call, account=self._account))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # Nothing was called yet: what has just been allowed is taken back, or it would look like a lost write.
            self._spawn(self._take_back(asking))
            raise
        except EffectUnknown:
            raise self.refuse(TURN_OVER) from None
        except DatabaseUnavailable:
            self.refuse(GATE_UNAVAILABLE)
            raise
        finally:
            self._note(asking=-1)

    async def _await_approval(self, asked: Authorised, since: float) -> tuple[float, Authorised]:
        try:
            return await await_approval(self._runtime, self._account, asked, since=since)
        except BaseException:
            if asked.effect is not None:
                self._spawn(self._give_back(asked.effect))
            raise

    async def _take_back(self, asking: asyncio.Task[Authorised]) -> None:
        try:
            authorised = await asking
        except OnevoiceError:
            # Nothing was allowed, as far as anybody knows.
            LOG.info("a cut call was not answered by the gate", extra={"turn_id": str(self._turn)})
            return
        if authorised.state is EffectState.STARTED and authorised.effect is not None:
            await self._give_back(authorised.effect)

    async def _give_back(self, effect: EffectId) -> None:
        try:
            await take_back(self._runtime, self._account, effect)
        except DatabaseUnavailable:
            # It stays begun: the end of its turn hands the conversation to a human, who finds nothing done.
            LOG.warning("a write that was not made could not be taken back", extra={"effect_id": str(effect)})

    async def _finish(self, permit: Permit, state: EffectState, result: object) -> None:
        while True:
            try:
                await finish(self._runtime, self._account, permit.effect, state=state, result=result)
            except DatabaseUnavailable:
                await self._runtime.clock.sleep(UNAVAILABLE_SECONDS)
            except EffectSettled:
                LOG.warning("a write has two outcomes", extra={"effect_id": str(permit.effect)})
                return
            else:
                return

    def _note(self, *, asking: int) -> None:
        self._asking_count += asking
        self._runtime.begun_writes.note(self._turn, begun=self._has_begun or self._asking_count > 0)

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return task


@asynccontextmanager
async def open_write_gate(runtime: Runtime, context: TurnContext) -> AsyncGenerator[TurnWriteGate]:
    """The gate of one agent call, in the context of everything the agent calls."""
    gate = TurnWriteGate(runtime, turn=context.turn_id, account=context.account_id)
    token = CURRENT_GATE.set(gate if runtime.agent.in_process else None)
    try:
        yield gate
    finally:
        CURRENT_GATE.reset(token)
        await gate.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
