"""A write gate for tests of tools and agents: it lets everything through, or refuses what a test says."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine
from contextvars import Token
from typing import Any, Self, TypeVar
from uuid import UUID

from onevoice.errors import WriteArgumentsInvalid, WriteBlocksLoop, WriteRefused
from onevoice.ports.writes import CURRENT_GATE, Permit, WriteCall, WriteGate
from onevoice.vocabulary import EffectId, EffectState

T = TypeVar("T")


class RecordingWriteGate:
    """Implements ports/writes.py in memory: inside its block write tools may be called without a turn.

    ``calls`` holds every call that was asked about, ``results`` what was done, by key. ``refuses`` is the reason with
    which every further write is refused.

    >>> from onevoice import writes
    >>> @writes
    ... async def book(day: str) -> str:
    ...     return f"booked {day}"
    >>> async def main() -> tuple[list[str], int]:
    ...     with RecordingWriteGate() as gate:
    ...         await book("friday")
    ...         await book("friday")
    ...     return [call.tool for call in gate.calls], len(gate.results)
    >>> asyncio.run(main())
    (['book', 'book'], 1)
    """

    def __init__(self, *, refuses: str | None = None) -> None:
        self.calls: list[WriteCall] = []
        self.results: dict[str, object] = {}
        self.refusal: str | None = None
        self.refuses = refuses
        self._open: dict[str, asyncio.Lock] = {}
        self._unknown: set[str] = set()
        self._tokens: list[Token[WriteGate | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(CURRENT_GATE.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        CURRENT_GATE.reset(self._tokens.pop())

    async def authorise(self, call: WriteCall) -> Permit:
        key = _key(call)
        self.calls.append(call)
        lock = self._open.setdefault(key, asyncio.Lock())
        await lock.acquire()
        effect = EffectId(UUID(int=len(self.calls)))
        if self.refuses is not None or (key in self._unknown and not call.retry_safe):
            lock.release()
            raise self.refuse(self.refuses or "outcome_unknown")
        if key in self.results:
            lock.release()
            return Permit(effect=effect, key=key, state=EffectState.DONE, result=self.results[key])
        return Permit(effect=effect, key=key, state=EffectState.STARTED)

    async def finish(self, permit: Permit, *, state: EffectState, result: object) -> None:
        if state is EffectState.DONE:
            self.results[permit.key] = result
        self._open[permit.key].release()

    def leave(self, permit: Permit) -> None:
        self._unknown.add(permit.key)
        self._open[permit.key].release()

    def refuse(self, reason: str) -> WriteRefused:
        self.refusal = self.refusal or reason
        return WriteRefused(reason)

    async def reach(self, asked: Coroutine[Any, Any, T]) -> T:
        return await asked

    def wait(self, asked: Coroutine[Any, Any, T]) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(asked)
        asked.close()
        self.refuse("misused")
        raise WriteBlocksLoop


def _key(call: WriteCall) -> str:
    try:
        named = json.dumps([call.tool, call.args, call.occurrence], sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise WriteArgumentsInvalid(f"the arguments of {call.tool} are no JSON") from error
    return hashlib.sha256(named.encode()).hexdigest()
