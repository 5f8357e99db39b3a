"""What a schedule is made of: who plays, what went before, what the world may answer, and what was done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onevoice.flow.runtime import Runtime
from tests.interleave.gates import TRANSACTION, Guard, Seat

if TYPE_CHECKING:
    from tests.interleave.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A part to play. A mortal one may be killed at any of its gates; a late one waits until its guard allows it."""

    name: str
    script: Callable[[World, Runtime, Seat], Awaitable[None]]
    is_mortal: bool = False
    when: Guard | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays, what went before, and what the world may answer."""

    name: str
    actors: tuple[Actor, ...]
    before: Callable[[World, Runtime], Awaitable[None]] | None = None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    outcomes: tuple[str, ...] = ("accepted",)
    moods: tuple[str, ...] = ("answers",)
    decisions: tuple[str, ...] = ("release_first",)
    ears: tuple[str, ...] = ("words",)
    level: int = TRANSACTION
    preemptions_max: int | None = None
    crashes_max: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a failure's trace."""

    actor: str
    did: str
    saw: str
