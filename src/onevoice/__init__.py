"""onevoice: one conversation, one voice.

Public names for agents and triage functions written by users. Importing it starts nothing and loads no agent library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onevoice.errors import WriteOutsideTurn, WriteRefused
from onevoice.vocabulary import (
    BurstMessage,
    HandoffRequest,
    HistoryItem,
    OutgoingMessage,
    Proposal,
    TriageDecision,
    TriageRequest,
    TurnContext,
    UntoldEffect,
    Usage,
)

__all__ = [
    "BurstMessage",
    "HandoffRequest",
    "HistoryItem",
    "OutgoingMessage",
    "Proposal",
    "TriageDecision",
    "TriageRequest",
    "TurnContext",
    "UntoldEffect",
    "Usage",
    "WriteOutsideTurn",
    "WriteRefused",
    "writes",
]

if TYPE_CHECKING:
    from onevoice.write_tools import writes


def __getattr__(name: str) -> object:
    """Load the decorator when it is first used."""
    if name != "writes":
        raise AttributeError(f"onevoice has no {name!r}")
    from onevoice.write_tools import writes

    globals()[name] = writes
    return writes
