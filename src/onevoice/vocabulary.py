"""The words of onevoice: ids, states and frozen records.

Every other module may import this one; it imports nothing of the project and does no I/O.
The same words appear in tables, metrics, URLs and screens (see docs/glossary.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

AccountId = NewType("AccountId", str)
ChannelName = NewType("ChannelName", str)
ConversationId = NewType("ConversationId", UUID)
MessageId = NewType("MessageId", UUID)
TurnId = NewType("TurnId", UUID)
OutboundId = NewType("OutboundId", UUID)
EffectId = NewType("EffectId", UUID)
OperatorId = NewType("OperatorId", UUID)
MediaId = NewType("MediaId", UUID)


class AuthorityState(StrEnum):
    """Who may produce an external effect in a conversation."""

    AI_ACTIVE = "AI_ACTIVE"
    HANDOFF_PENDING = "HANDOFF_PENDING"
    HUMAN_ACTIVE = "HUMAN_ACTIVE"
    AI_SUSPENDED = "AI_SUSPENDED"


class InboundState(StrEnum):
    """What became of a customer's message."""

    OPEN = "open"  # Waits for a turn.
    CLAIMED = "claimed"  # A running turn reads it.
    ANSWERED = "answered"  # A turn or a human answered it, or closed it silently with a reason.
    CANCELLED = "cancelled"  # Triage dropped its reply and closed it.
    WITHDRAWN = "withdrawn"  # The customer revoked it before it was answered.
    RECORDED = "recorded"  # Stored; starts no turn (reaction, system event, unknown shape).


class TurnState(StrEnum):
    """One run of the agent over the exact burst it claimed."""

    RUNNING = "running"
    SEALED = "sealed"
    DISCARDED = "discarded"
    OBSOLETE = "obsolete"
    HANDOFF = "handoff"
    SILENT = "silent"
    PARKED = "parked"
    ABANDONED = "abandoned"
    FAILED = "failed"


class OutboundState(StrEnum):
    """A sealed message on its way to a channel.

    ``held`` is derived, not stored: a ``due`` message whose hold, part interval or triage is not over.
    """

    DUE = "due"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    PLAYED = "played"
    FAILED = "failed"
    PARKED = "parked"
    UNCERTAIN = "uncertain"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"


class EffectState(StrEnum):
    """A write tool's call."""

    AWAITING = "awaiting"  # An operator must approve it first.
    REFUSED = "refused"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


class MediaKind(StrEnum):
    """What a file is to the people who send it."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    STICKER = "sticker"


class MediaState(StrEnum):
    """Where the bytes of a file are."""

    WAITING = "waiting"  # To be downloaded from the channel.
    STORED = "stored"
    FAILED = "failed"  # Cannot be had, with a reason.


class TranscriptionState(StrEnum):
    """What became of an audio's words."""

    WAITING = "waiting"
    DONE = "done"
    SILENT = "silent"  # Nobody speaks in it.
    FAILED = "failed"


class Author(StrEnum):
    """Whose voice an outbound message is."""

    AI = "ai"
    OPERATOR = "operator"
    DEVICE = "device"
    SYSTEM = "system"


class TriageDecision(StrEnum):
    """What becomes of a sealed reply that a newer message overtook."""

    RELEASE_FIRST = "release_first"
    CANCEL_FIRST = "cancel_first"
    MERGE = "merge"


class WhileRunning(StrEnum):
    """What a message does that arrives while a turn runs."""

    ENQUEUE = "enqueue"
    DISCARD = "discard"
    DISCARD_UNLESS_WROTE = "discard_unless_wrote"
    TRIAGE = "triage"


class WhileHeld(StrEnum):
    """What a message does that arrives while a sealed reply waits."""

    TRIAGE = "triage"
    RELEASE = "release"
    REDO = "redo"


class AfterUncertain(StrEnum):
    """What becomes of a message whose outcome stayed unknown for the whole wait."""

    PARK = "park"
    RETRY_ONCE = "retry_once"


class ErrorAction(StrEnum):
    """What a channel's error means for the message (wire-format table, as data)."""

    RETRY = "retry"  # Known as not accepted: again, with back-off.
    SLOW = "slow"  # Known as not accepted: again, later, and this lane or number slower.
    NEEDS_TEMPLATE = "needs_template"  # The reply window is closed: park until the customer writes.
    PARK = "park"  # An operator or admin must act.
    DROP = "drop"  # Failed for good; the conversation goes on.
    FIX = "fix"  # Our payload is wrong: failed for good, developers are told.
    UNKNOWN = "unknown"  # May have been accepted: uncertain, never silently retried.


class StopAi(StrEnum):
    """How far an error stops automation."""

    NO = "no"
    CONVERSATION = "conversation"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRequest:
    """The agent asks for a human: a reason code, an optional note and summary for the operator."""

    reason: str
    note: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMedia:
    """A file to be sent: the ``id`` of one that was handed in or came with a message, or its ``content``.

    ``kind`` is what it is sent as; ``None``: what its bytes say, or a document where the channel takes nothing else.
    ``filename`` is shown to the customer; ``mime_type`` hints at bytes that nobody recognises.
    """

    id: MediaId | None = None
    content: bytes | None = field(default=None, repr=False)
    kind: MediaKind | None = None
    filename: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """An answer to tap. WhatsApp: at most 3, ``title`` 20 characters, ``id`` 256."""

    id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuRow:
    """An entry of a menu. WhatsApp: ``title`` 24 characters, ``description`` 72, ``id`` 200."""

    id: str
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuSection:
    """Entries under one heading of at most 24 characters; a menu of one section needs no ``title``."""

    rows: tuple[MenuRow, ...]
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A list to choose one entry from, opened by ``button`` (WhatsApp: 20 characters; 10 rows over all sections)."""

    button: str
    sections: tuple[MenuSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A message approved beforehand, which passes a closed reply window; for operators and automation, not for agents.

    ``components`` are the channel's own JSON for the parameters.
    """

    name: str
    language: str
    components: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """An emoji on a customer's message, named by our id of it or the channel's; an empty ``emoji`` takes it back."""

    message: str
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """One message to the customer, before it is split into parts the channel can carry.

    ``text`` may stand alone, as a file's caption, or above buttons or a menu; a template and a reaction have none.
    """

    text: str = ""
    media: OutgoingMedia | None = None
    buttons: tuple[Button, ...] = ()
    menu: Menu | None = None
    template: Template | None = None
    reaction: Reaction | None = None

    @property
    def is_blank(self) -> bool:
        """Nothing that could be sent."""
        return not self.text.strip() and self == OutgoingMessage(text=self.text)

    @property
    def words(self) -> str:
        """What the customer reads, or what they get, in brackets."""
        named: tuple[str | None, ...] = ()
        if self.template is not None:
            named = ("template", self.template.name)
        elif self.reaction is not None:
            named = ("reaction", self.reaction.emoji or "taken back")
        elif self.media is not None and not self.text.strip():
            named = (self.media.kind.value if self.media.kind else "file", self.media.filename)
        return f"[{': '.join(name for name in named if name)}]" if named else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an agent call cost, as its provider counted it."""

    input_tokens: int = 0
    output_tokens: int = 0
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the agent wants to say or do; never an effect by itself.

    No messages and no handoff is a deliberate silence. ``wrote`` says that a write tool ran, so
    that the reply tells of something that happened.
    """

    messages: tuple[OutgoingMessage, ...] = ()
    handoff: HandoffRequest | None = None
    confidence: float | None = None
    wrote: bool = False
    usage: Usage | None = None
    silence_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A file that came with a message, or was handed in to be sent.

    ``state`` is ``waiting`` or ``failed`` where the agent must do without it; ``reason`` says why. ``url`` is the path
    it is served under. ``content`` are the bytes of a stored image, for an agent that takes images; else ``None``.
    """

    id: MediaId
    kind: MediaKind
    state: MediaState
    reason: str | None = None
    mime_type: str | None = None
    filename: str | None = None
    size_bytes: int | None = None
    url: str | None = None
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstMessage:
    """One inbound message as the agent sees it; ``text`` describes what is not text, and says what is missing of it."""

    id: MessageId
    type: str
    text: str | None
    at: datetime
    transcription: str | None = None
    media: Media | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryItem:
    """Something the customer saw or said before this burst.

    ``role`` is ``customer``, ``assistant``, ``operator`` or ``system`` (a mark such as the start
    and end of a human stretch). ``state`` is ``None``, ``uncertain`` or ``on_its_way``.
    """

    role: str
    text: str
    at: datetime
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UntoldEffect:
    """What an earlier, unfinished attempt already did and the customer has not been told."""

    tool: str
    args: dict[str, object]
    state: EffectState
    result: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """Everything an agent is given for one turn.

    ``messages`` is the burst, to be read as one user turn with one part per message. The turn id
    is the fencing token and the idempotency key; ``correlation_id`` joins logs and traces.
    """

    turn_id: TurnId
    attempt: int
    authority_version: int
    correlation_id: str
    deadline_seconds: float
    conversation_id: ConversationId
    account_id: AccountId
    channel: ChannelName
    contact_id: str
    contact_name: str | None
    messages: tuple[BurstMessage, ...]
    history: tuple[HistoryItem, ...] = ()
    effects: tuple[UntoldEffect, ...] = ()
    transcribed_label: str = "[transcribed audio]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRequest:
    """A sealed reply that a newer message overtook.

    ``overtaken`` are the texts the reply answers (A), ``reply`` its parts, ``newer`` the texts
    that arrived since (B), each oldest first.
    """

    conversation_id: ConversationId
    channel: ChannelName
    overtaken: tuple[str, ...]
    reply: tuple[str, ...]
    newer: tuple[str, ...]
    history: tuple[HistoryItem, ...] = field(default=())
