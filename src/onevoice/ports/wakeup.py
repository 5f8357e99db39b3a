"""Nudges between the steps: they save latency and carry nothing.

Losing every nudge costs at most one poll interval, never a message.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Work(StrEnum):
    """What a waiting worker looks for."""

    TURN = "turn"
    OUTBOX = "outbox"
    TRIAGE = "triage"
    MEDIA = "media"


class Wakeup(Protocol):
    def nudge(self, work: Work, *, in_seconds: float = 0.0) -> None:
        """Say that work of this kind falls due in so many seconds."""
        ...

    async def wait(self, work: Work, *, seconds_max: float) -> None:
        """Return when nudged work falls due, at the latest after ``seconds_max``."""
        ...
