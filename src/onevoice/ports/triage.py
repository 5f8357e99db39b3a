"""The decider asked about a sealed reply that a newer message overtook."""

from __future__ import annotations

from typing import Protocol

from onevoice.vocabulary import TriageDecision, TriageRequest


class Decider(Protocol):
    """Says what becomes of the waiting reply; slow or failing answers are the caller's to bound."""

    name: str

    async def decide(self, request: TriageRequest) -> TriageDecision: ...

    async def close(self) -> None: ...
