"""onevoice: one conversation, one voice.

Public names for agents, triage functions and transcribers written by users. Importing it starts nothing and
loads no agent library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from onevoice.errors import HandoffOutsideTurn, TranscriptionFailed, WriteOutsideTurn, WriteRefused
from onevoice.ports.transcriber import Audio, Transcript
from onevoice.vocabulary import (
    BurstMessage,
    Button,
    HandoffRequest,
    HistoryItem,
    Media,
    MediaKind,
    Menu,
    MenuRow,
    MenuSection,
    OutgoingMedia,
    OutgoingMessage,
    Proposal,
    Reaction,
    Template,
    TriageDecision,
    TriageRequest,
    TurnContext,
    UntoldEffect,
    Usage,
)

__all__ = [
    "Audio",
    "BurstMessage",
    "Button",
    "HandoffOutsideTurn",
    "HandoffRequest",
    "HistoryItem",
    "Media",
    "MediaKind",
    "Menu",
    "MenuRow",
    "MenuSection",
    "OutgoingMedia",
    "OutgoingMessage",
    "Proposal",
    "Reaction",
    "Template",
    "Transcript",
    "TranscriptionFailed",
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
