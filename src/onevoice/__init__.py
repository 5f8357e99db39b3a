"""onevoice: one conversation, one voice.

Public names for agents and triage functions written by users. Importing it starts nothing and loads no agent library.
"""

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
]
