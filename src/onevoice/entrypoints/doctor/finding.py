"""One thing the doctor looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: a fault keeps onevoice from working, a warning will hurt later."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``what`` was found about ``name``, and the next ``act``, if there is one."""

    name: str
    level: Level
    what: str
    act: str = ""


def ok(name: str, what: str, act: str = "") -> Finding:
    return Finding(name=name, level=Level.OK, what=what, act=act)


def warning(name: str, what: str, act: str) -> Finding:
    return Finding(name=name, level=Level.WARNING, what=what, act=act)


def fault(name: str, what: str, act: str) -> Finding:
    return Finding(name=name, level=Level.FAULT, what=what, act=act)
