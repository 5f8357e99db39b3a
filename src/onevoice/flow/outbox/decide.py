"""Whether the head of a lane may leave now, and what an outcome makes of a message. Pure.

::

    due ──► sending ──► sent ──► delivered ──► read ──► played
     ▲         │  └───► uncertain ──► sent … | parked | due (once more)
     └─ retry ─┴──────► failed | parked | revoked
    due ──► parked | cancelled | superseded | revoked
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from onevoice.errors import MediaUnavailable
from onevoice.flow.conversation.decide import Conversation
from onevoice.ports.channel import Accepted, ChannelError, NotSent, Outcome, OutcomeUnknown, Refused
from onevoice.vocabulary import (
    AfterUncertain,
    Author,
    AuthorityState,
    ChannelName,
    ErrorAction,
    Media,
    OutboundId,
    OutboundState,
    StopAi,
    TurnId,
)

RETRY_SECONDS_FIRST = 2.0
RETRY_SECONDS_MAX = 300.0
NOT_SENT_RETRIES_MAX = 12
PAUSED_LOOK_SECONDS = 30.0
PAIR_WAIT_SECONDS_MIN = 0.001
UPLOAD_SECONDS_MIN = 20.0
UPLOAD_BYTES_PER_SECOND = 256 * 1024
UPLOAD_TRIES_MAX = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An outbound message's row, read under its conversation's lock."""

    id: OutboundId
    channel: ChannelName
    author: Author
    turn_id: TurnId | None
    key: str
    part: int
    text: str
    state: OutboundState
    authority_version: int
    arrivals_seen: int
    wrote: bool
    due_at: datetime
    hold_try_count: int
    attempt_count: int
    no_retry: bool
    external_id: str | None
    reason: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    upload_try_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The head of a conversation's lane with what may hold it back.

    ``file`` is what the head carries, ``uploaded_as`` the channel's id of it, got at ``uploaded_at``;
    ``upload_days`` says how long such an id is good, ``None`` that the channel wants none.
    """

    conversation: Conversation
    head: Message
    channel_known: bool
    channel_paused: bool
    channel_slow_until: datetime | None
    ladder_seconds: Sequence[float]
    pair_burst: int | None
    pair_seconds: float
    file: Media | None = None
    uploaded_as: str | None = None
    uploaded_at: datetime | None = None
    upload_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lend:
    """Its file must be with the channel first: upload it within so many seconds, while the head waits for as long."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Send it now. ``pair_spent`` is the pair's new burst credit in use."""

    pair_spent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Not yet: look again then. ``counts`` is true for a try of the hold ladder."""

    until: datetime
    reason: str
    counts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """It leaves the lane: parked or revoked, with its reason."""

    state: OutboundState
    reason: str


Choice = Begin | Hold | Drop | Lend


def decide_begin(lane: Lane) -> Choice:
    """Authority first, then triage, then whether the channel takes anything now."""
    conversation, head, now = lane.conversation, lane.head, lane.conversation.now
    if head.authority_version != conversation.authority_version:
        return Drop(state=OutboundState.REVOKED, reason="authority_revoked")
    if head.due_at > now:
        return Hold(until=head.due_at, reason="not_due")
    if not lane.channel_known:
        return Drop(state=OutboundState.PARKED, reason="channel_removed")
    if is_undecided(conversation, head):
        return _climb(lane)
    is_template = head.payload.get("type") == "template"
    window = conversation.window_expires_at
    if window is not None and window <= now and not is_template:
        return Drop(state=OutboundState.PARKED, reason="needs_template")
    if lane.channel_paused and head.author is not Author.OPERATOR:
        return Hold(until=now + timedelta(seconds=PAUSED_LOOK_SECONDS), reason="channel_paused")
    if lane.channel_slow_until is not None and lane.channel_slow_until > now:
        return Hold(until=lane.channel_slow_until, reason="channel_slow")
    if _needs_upload(lane):
        return Lend(seconds=upload_seconds(lane.file.size_bytes if lane.file else None))
    return _pace(lane)


def _needs_upload(lane: Lane) -> bool:
    if lane.upload_days is None or "media" not in lane.head.payload:
        return False
    if lane.uploaded_as is None or lane.uploaded_at is None:
        return True
    return lane.uploaded_at + timedelta(days=lane.upload_days) <= lane.conversation.now


def upload_seconds(size_bytes: int | None) -> float:
    """How long the upload of a file may take, on a line that carries 256 KiB a second."""
    return UPLOAD_SECONDS_MIN + (size_bytes or 0) / UPLOAD_BYTES_PER_SECOND


def is_undecided(conversation: Conversation, head: Message) -> bool:
    """An arrival that this AI reply has not seen and that no triage decision covers."""
    return (
        head.author is Author.AI
        and conversation.authority_state is AuthorityState.AI_ACTIVE
        and conversation.arrival_count > max(head.arrivals_seen, conversation.arrivals_decided)
    )


def _climb(lane: Lane) -> Hold | Drop:
    tries = lane.head.hold_try_count
    if tries >= len(lane.ladder_seconds):
        return Drop(state=OutboundState.PARKED, reason="triage_undecided")
    until = lane.conversation.now + timedelta(seconds=lane.ladder_seconds[tries])
    return Hold(until=until, reason="triage_undecided", counts=True)


def _pace(lane: Lane) -> Begin | Hold:
    if lane.pair_burst is None:
        return Begin(pair_spent=0.0)
    conversation = lane.conversation
    spent = conversation.pair_spent_count
    if conversation.pair_spent_at is not None:
        # A clock that was set back pays nothing back, but nothing more is owed either.
        elapsed = max(0.0, (conversation.now - conversation.pair_spent_at).total_seconds())
        spent = max(0.0, spent - elapsed / lane.pair_seconds)
    if spent + 1 > lane.pair_burst:
        # Never so short that the instant is now again: that would be a loop without a pause.
        wait = max(PAIR_WAIT_SECONDS_MIN, (spent + 1 - lane.pair_burst) * lane.pair_seconds)
        return Hold(until=conversation.now + timedelta(seconds=wait), reason="pair_rate")
    return Begin(pair_spent=spent + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What an outcome makes of a message, its conversation and its channel."""

    state: OutboundState
    reason: str | None = None
    due_in_seconds: float | None = None
    external_id: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    stop_ai: StopAi = StopAi.NO
    slow_channel_seconds: float | None = None
    pair_was_slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Bounds of the outbox. ``jitter`` is in [0.5, 1.0)."""

    uncertain_wait_seconds: float
    after_uncertain: AfterUncertain
    jitter: float


def is_resolved_by(state: OutboundState, outcome: Outcome, *, reason: str | None = None) -> bool:
    """Whether the outcome of a message's latest attempt still tells something new: definite beats unknown.

    Acceptance is told at any time, also of a message that was given up or put back into the lane for want of
    evidence: the customer has it. Not so where the channel itself has said since, by ``reason``, that it failed.
    """
    match state:
        case OutboundState.SENDING:
            return True
        case OutboundState.UNCERTAIN:
            ambiguous = isinstance(outcome, Refused) and outcome.error.action is ErrorAction.UNKNOWN
            return not isinstance(outcome, OutcomeUnknown) and not ambiguous
        case OutboundState.DUE | OutboundState.PARKED | OutboundState.FAILED | OutboundState.REVOKED:
            return isinstance(outcome, Accepted) and not _was_refused_since(reason)
        case _:
            return False


def _was_refused_since(reason: str | None) -> bool:
    """A status overtook the answer of its own call: the failure it tells of is the newer word."""
    return reason is not None and (reason.startswith("channel_") or reason == "needs_template")


def decide_finish(message: Message, outcome: Outcome, waits: Waits, *, pair_slow_count: int) -> After:
    """The outcome of the attempt that is on the wire. Only what is known as not accepted is tried again."""
    match outcome:
        case Accepted(external_id=external_id):
            return After(state=OutboundState.SENT, external_id=external_id)
        case NotSent(reason=reason):
            return _retry(
                message, reason, waits, error=None, retries_max=NOT_SENT_RETRIES_MAX, wait_seconds=None
            )
        case OutcomeUnknown(reason=reason):
            return After(state=OutboundState.UNCERTAIN, reason=reason)
        case Refused(error=error):
            return _after_refusal(message, error, waits, pair_slow_count=pair_slow_count)


def _after_refusal(message: Message, error: ChannelError, waits: Waits, *, pair_slow_count: int) -> After:
    match error.action:
        case ErrorAction.RETRY:
            return _retry(
                message,
                "channel_refused",
                waits,
                error=error,
                retries_max=error.retries_max,
                wait_seconds=error.retry_after_seconds,
            )
        case ErrorAction.SLOW:
            wait = error.retry_after_seconds or float(4 ** min(pair_slow_count, 5))
            return _retry(
                message, "channel_slow", waits, error=error, retries_max=error.retries_max, wait_seconds=wait
            )
        case ErrorAction.UNKNOWN:
            return _ended(OutboundState.UNCERTAIN, "channel_ambiguous", error)
        case ErrorAction.NEEDS_TEMPLATE:
            return _ended(OutboundState.PARKED, "needs_template", error)
        case ErrorAction.PARK:
            return _ended(OutboundState.PARKED, "channel_refused", error)
        case ErrorAction.DROP | ErrorAction.FIX:
            return _ended(OutboundState.FAILED, f"channel_{error.action.value}", error)


def _ended(state: OutboundState, reason: str, error: ChannelError) -> After:
    return After(
        state=state, reason=reason, error_code=error.code, error_detail=error.detail, stop_ai=error.stop_ai
    )


def _retry(
    message: Message,
    reason: str,
    waits: Waits,
    *,
    error: ChannelError | None,
    retries_max: int,
    wait_seconds: float | None,
) -> After:
    code = error.code if error else None
    detail = error.detail if error else None
    stop_ai = error.stop_ai if error else StopAi.NO
    if message.no_retry:
        return After(
            state=OutboundState.REVOKED,
            reason="authority_revoked",
            error_code=code,
            error_detail=detail,
            stop_ai=stop_ai,
        )
    if message.attempt_count > retries_max:
        return After(
            state=OutboundState.PARKED,
            reason="retries_exhausted",
            error_code=code,
            error_detail=detail,
            stop_ai=stop_ai,
        )
    wait = wait_seconds
    if wait is None:
        wait = min(RETRY_SECONDS_MAX, RETRY_SECONDS_FIRST * 2 ** (message.attempt_count - 1)) * waits.jitter
    is_slow = error is not None and error.action is ErrorAction.SLOW
    return After(
        state=OutboundState.DUE,
        reason=reason,
        due_in_seconds=wait,
        error_code=code,
        error_detail=detail,
        stop_ai=stop_ai,
        slow_channel_seconds=wait if is_slow and error is not None and error.slows_channel else None,
        pair_was_slow=is_slow and error is not None and not error.slows_channel,
    )


def decide_upload_failed(message: Message, error: MediaUnavailable, waits: Waits) -> After:
    """No upload, no message: again later, else it ends before anything left."""
    if not error.retry:
        return After(state=OutboundState.FAILED, reason="media_refused", error_code=error.reason)
    if message.upload_try_count >= UPLOAD_TRIES_MAX:
        return After(state=OutboundState.PARKED, reason="retries_exhausted", error_code=error.reason)
    wait = error.retry_after_seconds
    if wait is None:
        wait = (
            min(RETRY_SECONDS_MAX, RETRY_SECONDS_FIRST * 2 ** (message.upload_try_count - 1)) * waits.jitter
        )
    return After(
        state=OutboundState.DUE, reason="upload_failed", due_in_seconds=wait, error_code=error.reason
    )


def decide_sender_lost(message: Message, *, is_idempotent: bool) -> After:
    """Nobody came back with the outcome: unknown, unless the channel makes a second delivery harmless."""
    if not is_idempotent:
        return After(state=OutboundState.UNCERTAIN, reason="sender_lost")
    if message.no_retry:
        return After(state=OutboundState.REVOKED, reason="authority_revoked")
    return After(state=OutboundState.DUE, reason="sender_lost", due_in_seconds=0.0)


def decide_uncertain_end(message: Message, waits: Waits) -> After:
    """No evidence came in time: park it for a human, or try once more where the tenant chose so."""
    may_retry = waits.after_uncertain is AfterUncertain.RETRY_ONCE and message.attempt_count < 2
    if may_retry and not message.no_retry:
        return After(state=OutboundState.DUE, reason="outcome_unknown", due_in_seconds=0.0)
    return After(state=OutboundState.PARKED, reason="outcome_unknown")
