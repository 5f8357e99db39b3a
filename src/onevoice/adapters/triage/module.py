"""A triage function written by the user: ``async (TriageRequest) -> "release_first" | "cancel_first" | "merge"``."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from onevoice.settings.attribute import attribute_fault, import_attribute
from onevoice.vocabulary import TriageDecision, TriageRequest

TriageFunction = Callable[[TriageRequest], Awaitable[str]]

_WANTED = "an `async def decide(request: TriageRequest) -> str`"


class FunctionDecider:
    """Implements ports/triage.py. An answer that is no decision raises ``ValueError``; the hold ladder covers it."""

    def __init__(self, name: str, decide: TriageFunction) -> None:
        self.name = name
        self._decide = decide

    async def decide(self, request: TriageRequest) -> TriageDecision:
        return TriageDecision(await self._decide(request))

    async def close(self) -> None:
        return None


def load_decider(use: str, folder: Path) -> FunctionDecider:
    """Import ``use`` with ``folder`` first on the path; raises ``ConfigurationError`` with one line."""
    found = import_attribute("triage.use", use, folder, wanted=_WANTED)
    if not inspect.iscoroutinefunction(found):
        raise attribute_fault("triage.use", use, "is no async function", f"name {_WANTED}")
    return FunctionDecider(use, cast("TriageFunction", found))
