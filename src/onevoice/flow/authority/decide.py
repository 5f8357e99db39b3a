"""The table of commands and states (architecture section 5), as one pure function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from onevoice.vocabulary import AuthorityState, OperatorId

DEVICE_REPLY = "device_reply"


class Command(StrEnum):
    TAKE = "take"
    TAKE_FORCED = "take_forced"
    CONFIRM = "confirm"
    RELEASE = "release"
    TRANSFER = "transfer"
    SUSPEND = "suspend"
    RESUME = "resume"
    REQUEST_HANDOFF = "request_handoff"
    DEVICE_REPLY = "device_reply"
    IDLE_RETURN = "idle_return"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Who may speak now. ``owner`` is null for nobody and for the business's own phone (reason ``device_reply``)."""

    state: AuthorityState
    version: int
    owner: OperatorId | None
    reason: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command with who gives it. ``is_admin`` is true for the runtime's own policies as well.

    ``in_flight``: an AI send or an AI write has begun and is unresolved. ``to``: whom a transfer names.
    ``holds``: a take that no idle time ends; ``held_by_hand``: the conversation was taken so.
    """

    command: Command
    by: OperatorId | None = None
    is_admin: bool = False
    to: OperatorId | None = None
    reason: str | None = None
    note: str | None = None
    in_flight: bool = False
    holds: bool = False
    held_by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """The new authority; the version goes up by one. ``revokes_operator``: a forced take by someone else."""

    state: AuthorityState
    owner: OperatorId | None
    reason: str | None
    note: str | None
    keeps_goodbye: bool = False
    revokes_operator: bool = False
    held_by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The command asks for what already is, or is only recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Refused; ``owner`` is who holds the conversation, where somebody does."""

    code: str
    owner: OperatorId | None = None


Decision = Transition | Unchanged | Conflict

_INVALID = Conflict(code="invalid_transition")


def decide_transition(authority: Authority, request: Request) -> Decision:
    """What a command does to a conversation: a transition, nothing, or a conflict that names the holder."""
    match request.command:
        case Command.TAKE | Command.TAKE_FORCED:
            return _take(authority, request)
        case Command.CONFIRM:
            return _confirm(authority, request)
        case Command.RELEASE | Command.TRANSFER | Command.SUSPEND:
            return _owner_command(authority, request)
        case Command.RESUME:
            is_suspended = authority.state is AuthorityState.AI_SUSPENDED
            return _to(AuthorityState.AI_ACTIVE, request) if is_suspended else _INVALID
        case Command.REQUEST_HANDOFF:
            is_ai = authority.state in (AuthorityState.AI_ACTIVE, AuthorityState.AI_SUSPENDED)
            return _to(AuthorityState.HANDOFF_PENDING, request) if is_ai else Unchanged()
        case Command.DEVICE_REPLY:
            return _device_reply(authority, request)
        case Command.IDLE_RETURN:
            is_idle = authority.state is AuthorityState.HUMAN_ACTIVE and not request.held_by_hand
            return _to(AuthorityState.AI_ACTIVE, request) if is_idle else Unchanged()


def _to(
    state: AuthorityState,
    request: Request,
    *,
    owner: OperatorId | None = None,
    keeps_goodbye: bool = False,
    revokes_operator: bool = False,
) -> Transition:
    return Transition(
        state=state,
        owner=owner,
        reason=request.reason,
        note=request.note,
        keeps_goodbye=keeps_goodbye,
        revokes_operator=revokes_operator,
        held_by_hand=request.holds or (request.held_by_hand and owner is not None),
    )


def _take(authority: Authority, request: Request) -> Decision:
    forced = request.command is Command.TAKE_FORCED
    is_held = authority.owner is not None and authority.state in (
        AuthorityState.HANDOFF_PENDING,
        AuthorityState.HUMAN_ACTIVE,
    )
    if is_held and authority.owner == request.by:
        if forced and authority.state is AuthorityState.HANDOFF_PENDING:
            return _to(AuthorityState.HUMAN_ACTIVE, request, owner=request.by)
        return Unchanged()
    if is_held and not (forced and request.is_admin):
        return Conflict(code="role_too_small" if forced else "held_by_other", owner=authority.owner)
    waits = request.in_flight and authority.state is not AuthorityState.HUMAN_ACTIVE
    state = AuthorityState.HANDOFF_PENDING if waits else AuthorityState.HUMAN_ACTIVE
    if authority.state is AuthorityState.HANDOFF_PENDING and authority.reason:
        # Why a human was asked for stays on the conversation while one has it.
        request = replace(request, reason=authority.reason, note=request.note or authority.note)
    return _to(state, request, owner=request.by, revokes_operator=is_held)


def _confirm(authority: Authority, request: Request) -> Decision:
    is_claimed = authority.owner is not None or authority.reason == DEVICE_REPLY
    if authority.state is not AuthorityState.HANDOFF_PENDING or not is_claimed or request.in_flight:
        return Unchanged()
    return _to(
        AuthorityState.HUMAN_ACTIVE,
        replace(request, reason=authority.reason, note=authority.note),
        owner=authority.owner,
    )


def _owner_command(authority: Authority, request: Request) -> Decision:
    if request.command is Command.SUSPEND and authority.state is AuthorityState.AI_SUSPENDED:
        return Unchanged()
    if authority.state is AuthorityState.AI_SUSPENDED:
        return _INVALID
    if authority.state is AuthorityState.AI_ACTIVE and request.command is not Command.SUSPEND:
        return _INVALID
    if authority.owner is None and request.command is Command.TRANSFER:
        return _INVALID
    if authority.owner is not None and authority.owner != request.by and not request.is_admin:
        return Conflict(code="not_owner", owner=authority.owner)
    match request.command:
        case Command.RELEASE:
            return _to(AuthorityState.AI_ACTIVE, request)
        case Command.TRANSFER:
            return _to(authority.state, request, owner=request.to)
        case _:
            keeps = authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is None
            return _to(AuthorityState.AI_SUSPENDED, request, keeps_goodbye=keeps)


def _device_reply(authority: Authority, request: Request) -> Decision:
    is_open = authority.state in (AuthorityState.AI_ACTIVE, AuthorityState.AI_SUSPENDED)
    is_waiting = authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is None
    if not is_open and not (is_waiting and authority.reason != DEVICE_REPLY):
        return Unchanged()
    state = AuthorityState.HANDOFF_PENDING if request.in_flight else AuthorityState.HUMAN_ACTIVE
    return _to(state, replace(request, reason=DEVICE_REPLY))


class EchoOutcome(StrEnum):
    """What an echo of an outgoing message turned out to be."""

    WAIT = "wait"
    OWN = "own"
    DEVICE = "device"
    HISTORY = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoFacts:
    """``is_sending``: one of our own attempts is on the wire, so that its id may still come."""

    is_ours: bool
    is_sending: bool
    sent_at: datetime | None
    received_at: datetime
    released_at: datetime | None
    now: datetime


# How long an unknown echo waits for the answer of an attempt that is on the wire (wire format, oddity 3).
ECHO_WAIT_SECONDS = 3.0


def decide_echo(facts: EchoFacts) -> EchoOutcome:
    """By the ids we stored, never by text. An echo older than the latest release is history."""
    if facts.is_ours:
        return EchoOutcome.OWN
    if facts.is_sending and facts.now < facts.received_at + timedelta(seconds=ECHO_WAIT_SECONDS):
        return EchoOutcome.WAIT
    written_at = facts.sent_at or facts.received_at
    if facts.released_at is not None and written_at < facts.released_at:
        return EchoOutcome.HISTORY
    return EchoOutcome.DEVICE
