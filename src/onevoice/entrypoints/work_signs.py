"""The sign that an answer is being written, for turns whose agent takes its time. Nothing depends on it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import Turn
from onevoice.flow.turn.perform import renew
from onevoice.ports.channel import Channel
from onevoice.vocabulary import TurnId

LOG = logging.getLogger("onevoice.worker")

# For an answer that is there at once a sign only flickers, and costs a call.
AFTER_SECONDS = 1.0
LOOK_SECONDS = 0.5
OVERLAP_SECONDS = 3.0

Spawn = Callable[[set[asyncio.Task[None]], Coroutine[Any, Any, None]], None]


@dataclass(slots=True)
class _Sign:
    turn: Turn
    channel: Channel
    lasts_seconds: float
    due_at: float


class WorkSigns:
    """One process's signs: ``begin`` and ``end`` bracket a turn, ``look`` shows those that are due.

    ``spawn`` is the worker's way to run a task that nobody waits for.
    """

    def __init__(self, runtime: Runtime, *, spawn: Spawn) -> None:
        self._runtime = runtime
        self._spawn = spawn
        self._signs: dict[TurnId, _Sign] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, turn: Turn) -> None:
        """The agent is being asked."""
        channel = self._runtime.channels.get(turn.channel)
        if channel is not None and channel.working_seconds is not None:
            self._signs[turn.id] = _Sign(
                turn=turn,
                channel=channel,
                lasts_seconds=channel.working_seconds,
                due_at=self._runtime.clock.monotonic() + AFTER_SECONDS,
            )

    def end(self, turn: TurnId) -> None:
        """It has answered, or is not waited for any more."""
        self._signs.pop(turn, None)

    async def look(self) -> bool:
        """Show what is due: the newest message as read, and somebody at work; again before it fades."""
        now = self._runtime.clock.monotonic()
        due = [sign for sign in self._signs.values() if sign.due_at <= now]
        if not due:
            return False
        # Whoever has lost the authority shows nothing any more.
        alive = await renew(self._runtime, [sign.turn for sign in due])
        for sign in due:
            sign.due_at = now + sign.lasts_seconds - OVERLAP_SECONDS
            if sign.turn.id in alive:
                self._spawn(self.tasks, self._show(sign))
            else:
                self.end(sign.turn.id)
        return False

    async def _show(self, sign: _Sign) -> None:
        try:
            await sign.channel.show_working(sign.turn.newest_external_id)
        except Exception as error:  # noqa: BLE001  # Whatever failed, the answer goes its way.
            LOG.info(
                "a channel showed no work",
                extra={"turn_id": str(sign.turn.id), "reason": type(error).__name__},
            )
            self._runtime.telemetry.work_signs.labels(outcome="failed").inc()
        else:
            self._runtime.telemetry.work_signs.labels(outcome="shown").inc()
