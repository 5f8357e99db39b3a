"""onevoice: one conversation, one voice.

Public names for agents and triage functions written by users. Importing it starts nothing and loads no agent library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from onevoice.errors import HandoffOutsideTurn, WriteOutsideTurn, WriteRefused
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
    "HandoffOutsideTurn",
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
    "handoff",
    "writes",
]

if TYPE_CHECKING:
    from onevoice.handoff_tool import handoff
    from onevoice.write_tools import writes

_MODULE_OF = {"handoff": "handoff_tool", "writes": "write_tools"}


def __getattr__(name: str) -> object:
    """Load a tool's module when the tool is first used."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"onevoice has no {name!r}")
    found: object = getattr(import_module(f"onevoice.{module}"), name)
    globals()[name] = found
    return found
