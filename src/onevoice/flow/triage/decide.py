"""The rules around a triage decision (architecture section 10): who need not be asked, and what voids it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from onevoice.flow.conversation.decide import Conversation
from onevoice.vocabulary import AuthorityState, TriageDecision, TurnId, WhileHeld


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldReply:
    """A sealed AI reply with unsent parts. ``open_since`` is when its first message arrived."""

    turn: TurnId
    has_begun: bool
    wrote: bool
    open_since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The decision with who made it and why; ``turns`` are the replies it drops, none when they are released."""

    decision: TriageDecision
    decider: str
    reason: str
    turns: tuple[TurnId, ...] = ()


def decide_without_asking(
    replies: Sequence[HeldReply], while_held: WhileHeld, *, now: datetime, max_wait_seconds: float
) -> Conclusion | None:
    """What the rules alone settle; ``None`` means that a decider has to be asked."""
    if not droppable(replies):
        reason = "already_begun" if any(reply.has_begun for reply in replies) else "tells_of_a_write"
        return Conclusion(decision=TriageDecision.RELEASE_FIRST, decider="rule", reason=reason)
    match while_held:
        case WhileHeld.RELEASE:
            return Conclusion(
                decision=TriageDecision.RELEASE_FIRST, decider="while_held", reason="while_held_release"
            )
        case WhileHeld.REDO:
            return bound(
                TriageDecision.MERGE,
                replies,
                decider="while_held",
                reason="while_held_redo",
                now=now,
                max_wait_seconds=max_wait_seconds,
            )
        case WhileHeld.TRIAGE:
            return None


def bound(
    decision: TriageDecision,
    replies: Sequence[HeldReply],
    *,
    decider: str,
    reason: str,
    now: datetime,
    max_wait_seconds: float,
) -> Conclusion:
    """Apply a decision within its bounds: what has begun is not dropped, and nobody is merged for ever."""
    dropped = droppable(replies)
    if decision is TriageDecision.RELEASE_FIRST or not dropped:
        return Conclusion(decision=TriageDecision.RELEASE_FIRST, decider=decider, reason=reason)
    if decision is TriageDecision.MERGE:
        first = min(reply.open_since for reply in dropped)
        if now >= first + timedelta(seconds=max_wait_seconds):
            return Conclusion(decision=TriageDecision.RELEASE_FIRST, decider="rule", reason="max_wait")
    return Conclusion(
        decision=decision, decider=decider, reason=reason, turns=tuple(reply.turn for reply in dropped)
    )


def droppable(replies: Sequence[HeldReply]) -> list[HeldReply]:
    """Replies of which no part began and that tell of no write; behind one that must go, nothing is dropped."""
    return [reply for reply in replies if not reply.has_begun and not reply.wrote]


def find_void_reason(conversation: Conversation, *, arrivals_asked: int) -> str | None:
    """Why an answer decides nothing: another authority, newer arrivals, or a decision that came first."""
    if conversation.authority_state is not AuthorityState.AI_ACTIVE:
        return "authority_revoked"
    if conversation.arrival_count != arrivals_asked:
        return "newer_message"
    if conversation.arrivals_decided >= arrivals_asked:
        return "already_decided"
    return None
