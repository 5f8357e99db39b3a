"""Who may speak, as the banner says it, and what its reader may ask for: the table of commands, on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.times import Times
from onevoice.entrypoints.console.words import REASONS, word_of
from onevoice.entrypoints.http.api.schemas import Authority, Conversation
from onevoice.entrypoints.operators.principal import Principal
from onevoice.store.database import Row
from onevoice.vocabulary import AuthorityState

__all__ = ["Standing", "read_standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``tone`` is ``ai``, ``wait``, ``mine``, ``other`` or ``stopped``. ``commands`` in the order of the buttons, the
    first one the likeliest. ``blocked`` says why the composer is closed; empty when its reader may write."""

    tone: str
    title: str
    details: tuple[str, ...]
    alerts: tuple[str, ...]
    commands: tuple[str, ...]
    owns: bool
    may_act: bool
    blocked: str
    owner_name: str
    may_hold: bool
    may_transfer: bool


def read_standing(
    conversation: Conversation,
    head: Row,
    *,
    principal: Principal,
    times: Times,
    idle_return_seconds: float,
) -> Standing:
    """What the operator sees above the thread, and may do about it."""
    texts, authority = TEXTS[times.language], conversation.authority
    owner_name = (authority.owner.name if authority.owner else None) or texts["nobody"]
    owns = authority.owner is not None and authority.owner.id == principal.operator_id
    is_free = authority.owner is None
    may_act = is_free or owns or principal.is_admin
    commands = _commands(authority, owns=owns, is_admin=principal.is_admin)
    return Standing(
        tone=_tone(authority, owns=owns),
        title=_title(authority, texts, owns=owns, owner_name=owner_name),
        details=_details(conversation, head, times, idle_return_seconds),
        alerts=_alerts(authority, head, texts, times, owns=owns),
        commands=commands,
        owns=owns,
        may_act=may_act,
        blocked=_blocked(authority, texts, owns=owns, owner_name=owner_name),
        owner_name=owner_name,
        may_hold=idle_return_seconds > 0,
        may_transfer=not is_free and (owns or principal.is_admin),
    )


def _commands(authority: Authority, *, owns: bool, is_admin: bool) -> tuple[str, ...]:
    """Only what the flow's table allows to this operator now."""
    is_free = authority.owner is None
    match authority.state:
        case AuthorityState.AI_ACTIVE:
            return ("take", "suspend")
        case AuthorityState.AI_SUSPENDED:
            return ("take", "resume")
        case AuthorityState.HUMAN_ACTIVE | AuthorityState.HANDOFF_PENDING if is_free:
            return ("take", "release", "suspend")
        case AuthorityState.HANDOFF_PENDING if owns:
            return ("release", "force", "transfer", "suspend")
        case AuthorityState.HUMAN_ACTIVE if owns:
            return ("release", "transfer", "suspend")
        case _ if is_admin:
            return ("force", "release", "transfer", "suspend")
        case _:
            return ()


def _tone(authority: Authority, *, owns: bool) -> str:
    if owns:
        return "mine"
    match authority.state:
        case AuthorityState.AI_ACTIVE:
            return "ai"
        case AuthorityState.AI_SUSPENDED:
            return "stopped"
        case AuthorityState.HANDOFF_PENDING if authority.owner is None:
            return "wait"
        case _:
            return "other"


def _title(authority: Authority, texts: Mapping[str, str], *, owns: bool, owner_name: str) -> str:
    if authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is not None:
        return texts["pending_mine"] if owns else texts["pending_other"].format(owner=owner_name)
    if authority.state is AuthorityState.HUMAN_ACTIVE:
        if owns:
            return texts["yours"]
        if authority.owner is None:
            return texts["device_holds"]
    return texts[authority.state.value].format(owner=owner_name)


def _details(
    conversation: Conversation, head: Row, times: Times, idle_return_seconds: float
) -> tuple[str, ...]:
    texts, authority = TEXTS[times.language], conversation.authority
    details = [word_of(REASONS, authority.reason, times.language)] if authority.reason else []
    details.append(texts["since"].format(time=times.short(authority.since)))
    if authority.state is AuthorityState.HUMAN_ACTIVE and idle_return_seconds > 0:
        if head["held_by_hand"]:
            details.append(texts["held_by_hand"])
        else:
            returns_at = conversation.last_activity_at + timedelta(seconds=idle_return_seconds)
            details.append(texts["returns_at"].format(time=times.clock(returns_at)))
    return tuple(details)


def _alerts(
    authority: Authority, head: Row, texts: Mapping[str, str], times: Times, *, owns: bool
) -> tuple[str, ...]:
    alerts: list[str] = []
    in_flight: int = head["in_flight_count"]
    is_pending = authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is not None
    if is_pending and in_flight:
        name = "in_flight_other" if not owns else "in_flight_one" if in_flight == 1 else "in_flight_many"
        alerts.append(texts[name].format(count=in_flight))
    uncertain: int = head["uncertain_count"]
    if uncertain:
        name = "uncertain_one" if uncertain == 1 else "uncertain_many"
        alerts.append(texts[name].format(count=uncertain))
    if head["paused_reason"] is not None:
        reason = word_of(REASONS, head["paused_reason"], times.language)
        alerts.append(texts["paused_channel"].format(reason=reason))
    return tuple(alerts)


def _blocked(authority: Authority, texts: Mapping[str, str], *, owns: bool, owner_name: str) -> str:
    if owns:
        return ""
    if authority.owner is not None:
        return texts["blocked_owner"].format(owner=owner_name)
    match authority.state:
        case AuthorityState.AI_ACTIVE:
            return texts["blocked_ai"]
        case AuthorityState.AI_SUSPENDED:
            return texts["blocked_suspended"]
        case AuthorityState.HUMAN_ACTIVE:
            return texts["blocked_device"]
        case AuthorityState.HANDOFF_PENDING:
            return texts["blocked_waiting"]


def is_window_closed(head: Row) -> bool:
    """The channel takes only templates now: a message would be parked."""
    expires: datetime | None = head["window_expires_at"]
    return expires is not None and expires <= head["now"]
