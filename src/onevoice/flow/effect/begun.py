"""Which running turns of this process have begun a write: their agent call must not be cut short."""

from __future__ import annotations

from onevoice.vocabulary import TurnId


class BegunWrites:
    """Kept in memory by the turns' gates; another process's turns are none of its business."""

    def __init__(self) -> None:
        self._turns: set[TurnId] = set()

    def has_begun_write(self, turn: TurnId) -> bool:
        """A write of this turn has begun, or is about to: cutting its call would leave the outcome unknown."""
        return turn in self._turns

    def note(self, turn: TurnId, *, begun: bool) -> None:
        if begun:
            self._turns.add(turn)
        else:
            self._turns.discard(turn)
