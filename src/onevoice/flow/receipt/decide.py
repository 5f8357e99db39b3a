"""The lattice of delivery states: a status may come twice, late, out of order, or before its message. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from onevoice.flow.conversation.decide import Conversation
from onevoice.ports.channel import ChannelError
from onevoice.vocabulary import Author, AuthorityState, ErrorAction, OutboundState, StopAi

_RANK = {
    OutboundState.SENT: 1,
    OutboundState.DELIVERED: 2,
    OutboundState.READ: 3,
    OutboundState.PLAYED: 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What a status makes of its message; ``None`` for the state leaves it as it is.

    ``retry_in_seconds``: a failure known as not accepted, while nothing later has begun.
    """

    state: OutboundState | None
    reason: str | None = None
    retry_in_seconds: float | None = None
    stop_ai: StopAi = StopAi.NO


def decide_status(
    current: OutboundState, status: str, error: ChannelError | None, *, later_began: bool, attempt_count: int
) -> Reception:
    """Monotone: ``sent < delivered < read < played``; ``failed`` is separate and a later ``delivered`` corrects it."""
    if status == "failed":
        return _decide_failed(current, error, later_began=later_began, attempt_count=attempt_count)
    reached = OutboundState(status)
    if current in _RANK:
        return Reception(state=reached if _RANK[reached] > _RANK[current] else None)
    # Positive evidence from the channel ends every doubt about an attempt, and corrects an earlier `failed`.
    if current in (
        OutboundState.SENDING,
        OutboundState.UNCERTAIN,
        OutboundState.FAILED,
        OutboundState.PARKED,
        OutboundState.DUE,
    ):
        is_correction = current is OutboundState.FAILED
        if is_correction and reached is OutboundState.SENT:
            return Reception(state=None)
        return Reception(state=reached)
    return Reception(state=None)


def _decide_failed(
    current: OutboundState, error: ChannelError | None, *, later_began: bool, attempt_count: int
) -> Reception:
    if current in (OutboundState.DELIVERED, OutboundState.READ, OutboundState.PLAYED):
        return Reception(state=None)
    if current not in (OutboundState.SENDING, OutboundState.UNCERTAIN, OutboundState.SENT):
        return Reception(state=None)
    if error is None:
        return Reception(state=OutboundState.FAILED, reason="channel_failed")
    if error.action is ErrorAction.NEEDS_TEMPLATE:
        return Reception(state=OutboundState.PARKED, reason="needs_template", stop_ai=error.stop_ai)
    if error.action is ErrorAction.PARK:
        return Reception(state=OutboundState.PARKED, reason="channel_refused", stop_ai=error.stop_ai)
    can_retry = error.action in (ErrorAction.RETRY, ErrorAction.SLOW) and attempt_count <= error.retries_max
    if can_retry and not later_began:
        wait = error.retry_after_seconds or min(300.0, 2.0 ** min(attempt_count, 8))
        return Reception(state=OutboundState.DUE, reason="channel_refused", retry_in_seconds=wait)
    return Reception(
        state=OutboundState.FAILED, reason=f"channel_{error.action.value}", stop_ai=error.stop_ai
    )


def is_late_ai_send(conversation: Conversation, author: Author, status: str, at: datetime | None) -> bool:
    """An AI message that the channel took after a takeover was confirmed: must never happen (I1)."""
    return (
        author is Author.AI
        and status == OutboundState.SENT
        and conversation.authority_state is AuthorityState.HUMAN_ACTIVE
        and at is not None
        and at > conversation.authority_since
    )
