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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a message stands when a status about it comes in.

    ``may_retry``: its authority still stands and nothing later has begun, so that a refused one may go again.
    ``is_older_attempt``: the status speaks of an attempt before the latest.
    """

    state: OutboundState
    reason: str | None
    attempt_count: int
    may_retry: bool
    is_older_attempt: bool = False


def decide_status(standing: Standing, status: str, error: ChannelError | None) -> Reception:
    """Monotone: ``sent < delivered < read < played``; ``failed`` is separate and a later ``delivered`` corrects it."""
    if status == "failed":
        return _decide_failed(standing, error)
    reached = next((state for state in _RANK if state == status), None)
    if reached is None or not _is_corrected(standing, reached):
        return Reception(state=None)
    return Reception(state=reached)


def _is_corrected(standing: Standing, reached: OutboundState) -> bool:
    """Positive evidence ends every doubt about the latest attempt; that the customer has it, any doubt at all.

    A late ``sent`` says only that the channel had taken what it may have failed to deliver since.
    """
    current = standing.state
    if current in _RANK:
        return _RANK[reached] > _RANK[current]
    if standing.is_older_attempt and current is OutboundState.SENDING:
        # The latest attempt is still on the wire: its own outcome ends it.
        return False
    if standing.attempt_count == 0:
        return False
    if reached is not OutboundState.SENT:
        return current not in (OutboundState.CANCELLED, OutboundState.SUPERSEDED)
    is_doubted = standing.reason in ("outcome_unknown", "sender_lost")
    return current in (OutboundState.SENDING, OutboundState.UNCERTAIN) or (
        current in (OutboundState.DUE, OutboundState.PARKED) and is_doubted
    )


def _decide_failed(standing: Standing, error: ChannelError | None) -> Reception:
    if standing.is_older_attempt:
        return Reception(state=None)
    if standing.state not in (OutboundState.SENDING, OutboundState.UNCERTAIN, OutboundState.SENT):
        return Reception(state=None)
    if error is None:
        return Reception(state=OutboundState.FAILED, reason="channel_failed")
    if error.action is ErrorAction.NEEDS_TEMPLATE:
        return Reception(state=OutboundState.PARKED, reason="needs_template", stop_ai=error.stop_ai)
    if error.action is ErrorAction.PARK:
        return Reception(state=OutboundState.PARKED, reason="channel_refused", stop_ai=error.stop_ai)
    is_refused = error.action in (ErrorAction.RETRY, ErrorAction.SLOW)
    if is_refused and standing.attempt_count <= error.retries_max and standing.may_retry:
        wait = error.retry_after_seconds or min(300.0, 2.0 ** min(standing.attempt_count, 8))
        return Reception(
            state=OutboundState.DUE, reason="channel_refused", retry_in_seconds=wait, stop_ai=error.stop_ai
        )
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
