"""Whether a write tool's call may begin, and what a reported outcome makes of it. Pure.

::

    awaiting ──► started ──► done
        │           └──────► failed ──► (an equal call starts anew)
        └──► refused         (what is refused at once is kept as refused, too)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from onevoice.flow.conversation.decide import Conversation
from onevoice.flow.turn.decide import TurnFacts, is_overtaken
from onevoice.vocabulary import AuthorityState, EffectId, EffectState, TurnId, TurnState

# How long after its authorisation a write may begin; whoever calls the tool compares before the first byte leaves.
WRITE_SECONDS_MAX = 30.0
TOOL_CHARS_MAX = 200
ARGS_CHARS_MAX = 65_536

AUTHORITY_REVOKED = "authority_revoked"
NEWER_MESSAGE = "newer_message"
TURN_OVER = "turn_over"
OUTCOME_UNKNOWN = "outcome_unknown"
REFUSED_BY_OPERATOR = "refused_by_operator"
APPROVAL_TIMEOUT = "approval_timeout"
NOT_BEGUN = "not_begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An effect's row, read under its conversation's lock."""

    id: EffectId
    turn_id: TurnId | None
    authority_version: int
    tool: str
    key: str
    state: EffectState
    retry_safe: bool
    reason: str | None
    result: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything an authorisation depends on. ``turn`` is ``None`` outside a turn, where ``version`` is the caller's.

    ``known``: the untold effect of the same key. ``wrote``: the conversation has untold effects.
    """

    conversation: Conversation
    turn: TurnFacts | None
    version: int
    known: Effect | None
    wrote: bool
    retry_safe: bool
    max_wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A new effect. ``closes`` is one that waits for approval in a turn that is over."""

    closes: EffectId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The same effect once more: its tool is safe to repeat, or it still waits for approval."""

    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """It is done already: the recorded result is the answer."""

    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Not to be done. ``ends_turn``: the turn still runs and must seal nothing."""

    code: str
    ends_turn: bool = False


Decision = Begin | Again | Recorded | Refuse


def decide_write(facts: Facts) -> Decision:
    """Authority first, then what is known of an equal call, then newer messages; the gate's own order."""
    revoked = check_authority(facts.conversation, facts.turn, version=facts.version)
    if revoked is not None:
        return Refuse(code=revoked)
    known = facts.known
    if known is not None and known.state is EffectState.DONE:
        return Recorded(effect=known)
    is_started = known is not None and known.state is EffectState.STARTED
    if is_started and known is not None and not (known.retry_safe and facts.retry_safe):
        return Refuse(code=OUTCOME_UNKNOWN, ends_turn=True)
    if is_stale(facts):
        return Refuse(code=NEWER_MESSAGE, ends_turn=True)
    if known is None:
        return Begin()
    if is_started or (facts.turn is not None and known.turn_id == facts.turn.id):
        return Again(effect=known)
    return Begin(closes=known.id)


def check_authority(conversation: Conversation, turn: TurnFacts | None, *, version: int) -> str | None:
    """Why no write may begin under this turn or version at all; ``None`` when it may."""
    if turn is not None and turn.state is not TurnState.RUNNING:
        return AUTHORITY_REVOKED if turn.reason == AUTHORITY_REVOKED else TURN_OVER
    is_current = version == conversation.authority_version
    if not is_current or conversation.authority_state is not AuthorityState.AI_ACTIVE:
        return AUTHORITY_REVOKED
    return None


def is_stale(facts: Facts) -> bool:
    """A newer message exists for which the turn's reply would be discarded; outside a turn there is no reply."""
    return facts.turn is not None and is_overtaken(
        facts.conversation, facts.turn, wrote=facts.wrote, max_wait_seconds=facts.max_wait_seconds
    )


def decide_approval(facts: Facts, *, seen_version: int | None) -> str | None:
    """Why an approved write may not begin all the same; ``seen_version`` is what the operator had on the screen."""
    revoked = check_authority(facts.conversation, facts.turn, version=facts.version)
    if revoked is None and seen_version not in (None, facts.conversation.authority_version):
        revoked = AUTHORITY_REVOKED
    if revoked is not None:
        return revoked
    return NEWER_MESSAGE if is_stale(facts) else None


class Report(StrEnum):
    """What a reported outcome is worth."""

    NEW = "new"
    KNOWN = "known"
    CONTRADICTS = "contradicts"


def decide_report(effect: Effect, *, state: EffectState, result: object) -> Report:
    """The first outcome counts, whenever it comes; the same again is known; another one contradicts it."""
    if effect.state is EffectState.STARTED:
        return Report.NEW
    is_same = effect.state is state and canonical_json(effect.result) == canonical_json(result)
    return Report.KNOWN if is_same else Report.CONTRADICTS


def effect_key(
    tool: str, args: Mapping[str, object], occurrence: str | None, *, outside: bool = False
) -> str:
    """What makes two calls the same call. Calls outside a turn never meet those of a turn."""
    named = canonical_json([tool, args, occurrence, outside])
    return hashlib.sha256(named.encode()).hexdigest()


def canonical_json(value: object) -> str:
    """One text per JSON value, whatever the order of its keys; raises ValueError or TypeError for what is no JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def is_storable(value: object) -> bool:
    """JSON that the database can hold: no NUL, no half of a surrogate pair, not too long."""
    try:
        text = canonical_json(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return len(text) <= ARGS_CHARS_MAX and _is_clean(value)


def _is_clean(value: object) -> bool:
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return all(isinstance(name, str) and _is_clean(name) and _is_clean(entries[name]) for name in entries)
    if isinstance(value, list | tuple):
        return all(_is_clean(item) for item in cast("list[object]", value))
    return True
