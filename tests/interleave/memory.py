"""What an earlier run with the same beginning has learned, so that it need not be asked for again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.interleave.gates import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The durable state before one step, and how much every seat had been answered by then."""

    step_count: int
    choice_count: int
    snapshot: str
    result_counts: dict[str, int]


@dataclass(slots=True)
class Memory:
    """What an earlier run of the same beginning has learned: its statements' rows need not be asked for again.

    Only for steps of one transaction: in the middle of one there is no state that could be put back.
    """

    moments: list[Moment] = field(default_factory=list[Moment])
    results: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    facts: list[Facts] = field(default_factory=list[Facts])

    def recall(self, choice_count: int) -> Moment | None:
        """The latest moment at which no more than so many choices had been made; forgets the later ones."""
        while self.moments and self.moments[-1].choice_count > choice_count:
            self.moments.pop()
        return self.moments[-1] if self.moments else None
