"""Who may write in a conversation, and what an idempotency key already means. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from onevoice.flow.conversation.decide import Conversation
from onevoice.vocabulary import Author, AuthorityState, OperatorId, OutboundState

WRITABLE = (AuthorityState.HUMAN_ACTIVE, AuthorityState.HANDOFF_PENDING)


def may_write(conversation: Conversation, operator: OperatorId | None) -> bool:
    """The owner may write; while a takeover is pending too, and the message leaves after its confirmation."""
    return (
        operator is not None
        and conversation.authority_owner == operator
        and conversation.authority_state in WRITABLE
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What became of a suggestion: ``used`` as it was, ``edited``, or ``replaced`` by other words."""

    kind: str


def judge_suggestion(suggested: str, sent: str | None, *, was_chosen: bool) -> Correction:
    """``sent`` is ``None`` when the operator took the suggestion as it is."""
    if sent is None or sent.strip() == suggested.strip():
        return Correction(kind="used")
    return Correction(kind="edited" if was_chosen else "replaced")


def may_release(state: OutboundState, reason: str | None) -> bool:
    """What waits for a human may be released; what somebody took back may not."""
    return state is OutboundState.PARKED and reason != "authority_revoked"


def may_speak(conversation: Conversation, author: Author) -> bool:
    """Once a human has the conversation, or is to have it, or the AI is silenced, only a human's words leave (I1)."""
    if author is Author.OPERATOR or conversation.authority_state is AuthorityState.AI_ACTIVE:
        return True
    return (
        conversation.authority_state is AuthorityState.HANDOFF_PENDING
        and conversation.authority_owner is None
    )


def may_discard(state: OutboundState) -> bool:
    return state in (OutboundState.PARKED, OutboundState.UNCERTAIN)


def may_send_as_own(state: OutboundState) -> bool:
    """A dropped or parked reply's words, sent as the operator's own message."""
    return state in (
        OutboundState.REVOKED,
        OutboundState.PARKED,
        OutboundState.CANCELLED,
        OutboundState.SUPERSEDED,
        OutboundState.FAILED,
    )
