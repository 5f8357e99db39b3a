"""Turn: one run of the agent over exactly the messages it claimed; its id is the fencing token."""

from onevoice.flow.turn.decide import Turn
from onevoice.flow.turn.perform import abandon_lost, claim, renew

__all__ = ["Turn", "abandon_lost", "claim", "renew"]
