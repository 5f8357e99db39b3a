"""How an item of a webhook is stored, and what an edit or a revoke does to its target. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from onevoice.ports.channel import ContactRef, ItemKind, MessageItem
from onevoice.vocabulary import InboundState


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The first state of an inbound message, and whether it counts as an arrival."""

    state: InboundState
    reason: str | None
    is_arrival: bool
    target_pending: bool


def choose_first_state(item: MessageItem) -> Stored:
    """An arrival opens a burst; everything else is kept and starts nothing by itself."""
    match item.kind:
        case ItemKind.ARRIVAL:
            return Stored(state=InboundState.OPEN, reason=None, is_arrival=True, target_pending=False)
        case ItemKind.RECORD:
            return Stored(
                state=InboundState.RECORDED, reason=item.type, is_arrival=False, target_pending=False
            )
        case ItemKind.EDIT | ItemKind.REVOKE:
            return Stored(
                state=InboundState.RECORDED,
                reason=item.kind.value,
                is_arrival=False,
                target_pending=item.target_external_id is not None,
            )


def replaces_address(contact: ContactRef) -> bool:
    """A business-scoped id never replaces a phone as the address replies are sent to."""
    return not contact.key.startswith("bsuid:")


def awaits_media(item: MessageItem) -> bool:
    """A turn waits for what an arrival consists of; a file that comes with anything else is only kept."""
    return item.media is not None and item.kind is ItemKind.ARRIVAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The silence a message asks for, in seconds, and the rule that changed the configured one."""

    seconds: float
    rule: str


LONG_CHARS_MIN = 160
SHORTENED = 0.5
LENGTHENED = 1.6
_GREETING_WORDS = (
    "oi oii oie ola olá opa alo alô eai bom boa dia tarde noite tudo bem hola buenas buenos dias tardes noches hi "
    "hello hey good morning afternoon evening there"
)
_GREETINGS = frozenset(_GREETING_WORDS.split(" "))


def choose_window(text: str | None, *, debounce_seconds: float) -> Window | None:
    """A question or a long message is a whole thought; a bare greeting is the start of one. ``None``: as configured."""
    words = re.findall(r"\w+", (text or "").casefold())
    if text is None or not words or debounce_seconds <= 0:
        return None
    if len(words) <= 4 and all(word in _GREETINGS for word in words):
        return Window(seconds=debounce_seconds * LENGTHENED, rule="greeting")
    if text.rstrip().endswith("?"):
        return Window(seconds=debounce_seconds * SHORTENED, rule="question")
    if len(text) >= LONG_CHARS_MIN:
        return Window(seconds=debounce_seconds * SHORTENED, rule="long_message")
    return None


class Amendment(StrEnum):
    """What an edit or a revoke does to the message it names."""

    WAIT = "wait"  # The target has not arrived yet.
    APPLY = "apply"  # Amend or withdraw; counts as an arrival.
    SUPERSEDE = "supersede"  # The same, and the unsent reply that was computed on the old text goes too.
    HISTORY = "history"  # Too late: the answer has begun.


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """The message an edit or revoke names, and the reply it was answered with, if any."""

    state: InboundState
    reply_part_count: int
    reply_unsent_count: int
    reply_wrote: bool


def decide_amendment(target: TargetFacts | None) -> Amendment:
    """Before its reply began, a message may still change; afterwards the change is only history.

    A reply that tells of a write is not taken back: what it tells has happened.
    """
    if target is None:
        return Amendment.WAIT
    if target.state in (InboundState.OPEN, InboundState.CLAIMED):
        return Amendment.APPLY
    is_unsent = target.reply_part_count > 0 and target.reply_unsent_count == target.reply_part_count
    if target.state is InboundState.ANSWERED and is_unsent and not target.reply_wrote:
        return Amendment.SUPERSEDE
    return Amendment.HISTORY
