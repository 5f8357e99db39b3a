"""A scenario: its name, what it must show, the server it is played on, and what happens in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from onevoice.entrypoints.simulate.play import Play


class Venue(StrEnum):
    """A configuration; scenarios that share one share a server."""

    CASE_STUDY = "case_study"
    UNDECIDED = "undecided"
    DEFAULT = "default"
    RESTARTED = "restarted"
    VOICE = "voice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``act`` plays it in a conversation of its own and says what it must show."""

    name: str
    shows: str
    venue: Venue
    act: Callable[[Play], Awaitable[None]]
