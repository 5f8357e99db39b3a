"""All nondeterminism of a run is a list of integers: chosen here, recorded here, replayed from here."""

from __future__ import annotations

import random  # noqa: TID251  # Seeded walks, repeatable.
from collections.abc import Sequence
from dataclasses import dataclass, field


class Pruned(Exception):  # Not an error: the rest of this run has been seen before.
    """The run has reached a state from which everything was tried already."""


class Diverged(
    Exception
):  # Not an error of the flow: the server has woken others first than in the run before.
    """The run does not repeat the beginning it was given."""


@dataclass(slots=True)
class Choices:
    """One run's decisions. The first ones are given; later ones are 0, or random when ``luck`` is set."""

    given: Sequence[int] = ()
    luck: random.Random | None = None
    made: list[int] = field(default_factory=list[int])
    widths: list[int] = field(default_factory=list[int])

    @property
    def is_replaying(self) -> bool:
        """Whether the next choice is still one of those given."""
        return len(self.made) < len(self.given)

    def choose(self, count: int) -> int:
        """One of ``count`` possibilities; a single one is no choice and leaves no trace."""
        if count < 1:
            raise ValueError("there is nothing to choose from")
        if count == 1:
            return 0
        if self.is_replaying:
            chosen = self.given[len(self.made)]
            if chosen >= count:
                raise Diverged(f"choice {len(self.made)} is {chosen}, but only {count} are possible here")
        else:
            chosen = self.luck.randrange(count) if self.luck is not None else 0
        self.made.append(chosen)
        self.widths.append(count)
        return chosen

    def next_prefix(self, *, floor: int = 0) -> list[int] | None:
        """The next run of a depth-first search, or ``None`` when all below the first ``floor`` are done."""
        for position in reversed(range(floor, len(self.made))):
            if self.made[position] + 1 < self.widths[position]:
                return [*self.made[:position], self.made[position] + 1]
        return None
