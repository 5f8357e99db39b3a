"""A messaging channel: bytes in, parsed items out; one HTTP call per sent message.

Parsing is pure and tolerant: it never raises for a shape it does not know, it returns an
``UnknownItem``. Delivery is one call with no retry inside; what it means is the outcome's kind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from onevoice.vocabulary import (
    AccountId,
    ChannelName,
    ErrorAction,
    Media,
    MediaKind,
    OutgoingMessage,
    StopAi,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRef:
    """The customer as a channel's webhook names them.

    ``address`` is what a reply is sent to, exactly as the channel gave it (WhatsApp: ``wa_id``,
    else the business-scoped id). ``key`` is the canonical form that decides which conversation this is
    when no alias is known yet; ``aliases`` are all canonical keys, ``key`` included.
    """

    address: str
    key: str
    aliases: tuple[str, ...]
    name: str | None = None


class ItemKind(StrEnum):
    ARRIVAL = "arrival"  # Starts a turn and overtakes what waits.
    RECORD = "record"  # Stored; starts no turn, overtakes nothing (reaction, receipt, system, unknown).
    EDIT = "edit"  # Amends ``target_external_id``.
    REVOKE = "revoke"  # Withdraws ``target_external_id``.


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRef:
    """A file as a channel's webhook names it: what ``download`` needs, and what the bytes are checked against.

    ``external_id`` is the channel's own id. ``mime_type`` is what the sender claims; ``sha256`` the raw digest.
    ``filename`` is the customer's, as it came.
    """

    kind: MediaKind
    external_id: str
    mime_type: str | None = None
    sha256: bytes | None = None
    filename: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaStream:
    """A file on its way in: its bytes in pieces, and what the channel says of it before the first one."""

    chunks: AsyncIterator[bytes]
    mime_type: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageItem:
    """One message of a customer.

    ``text`` is what the agent reads: the text itself, a caption, or a bracketed description. ``raw`` are the
    item's bytes. ``sent_at`` is the channel's timestamp; ``None`` when it gave none.
    ``opens_window_until`` is when the channel stops taking free-form replies, if it has such a window.
    """

    external_id: str
    contact: ContactRef
    kind: ItemKind
    type: str
    text: str | None
    raw: bytes
    sent_at: datetime | None = None
    opens_window_until: datetime | None = None
    target_external_id: str | None = None
    reply_to_external_id: str | None = None
    route: str | None = None
    media: MediaRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelError:
    """A channel's error, classified. ``code`` is the channel's own; ``detail`` its words, without personal data.

    ``retries_max``: how often RETRY may try; beyond it the message is parked. ``retry_after_seconds``: the
    channel's or table's own wait; ``None`` leaves it to the outbox's back-off. ``slows_channel``: a SLOW that
    holds the whole channel, not only this conversation.
    """

    action: ErrorAction
    code: str
    detail: str
    stop_ai: StopAi = StopAi.NO
    retries_max: int = 6
    retry_after_seconds: float | None = None
    slows_channel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusItem:
    """What the channel says of a message we sent.

    ``status`` is ``sent``, ``delivered``, ``read``, ``played`` or ``failed`` (others are
    ignored upstream). ``correlation_id`` is what we put into the send, when the channel echoes it.
    """

    external_id: str
    status: str
    raw: bytes
    at: datetime | None = None
    correlation_id: str | None = None
    recipient_aliases: tuple[str, ...] = ()
    error: ChannelError | None = None
    route: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoItem:
    """A message sent to the customer that may not be ours: the business answered from its own phone."""

    external_id: str
    contact: ContactRef
    type: str
    text: str | None
    raw: bytes
    sent_at: datetime | None = None
    route: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownItem:
    """Something stored as it came, with the reason why nothing more was made of it."""

    reason: str
    raw: bytes
    route: str | None = None


Item = MessageItem | StatusItem | EchoItem | UnknownItem


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A webhook as it came in. ``headers`` have lower-case names; ``body`` are the raw bytes that were signed."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAnswer:
    """What the webhook's verification request is answered with."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one call carries of a message. ``text`` is what the customer reads, or what they get, in brackets.

    ``payload`` is empty for plain text; else it is small JSON that has its ``type``, and refers to files by our ids:

    - ``image``, ``document``, ``audio``, ``video``: ``media``, and as given ``caption``, ``filename``, ``voice``
    - ``buttons``: ``buttons``, each ``id`` and ``title``
    - ``menu``: ``button``, and ``sections``, each ``title`` and ``rows`` of ``id``, ``title``, ``description``
    - ``template``: ``name``, ``language``, ``components``
    - ``reaction``: ``message``, the channel's id of what it is on, and ``emoji``
    """

    text: str
    payload: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One attempt to send one part. ``deadline`` is on the clock's monotonic scale, in seconds.

    ``correlation_id`` names this attempt to the channel, where it has a field for it. ``uploaded_as`` is the channel's
    id of the payload's file, where the channel takes uploads.
    """

    address: str
    text: str
    correlation_id: str
    deadline: float
    key: str
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    uploaded_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The channel took the message. ``aliases`` are canonical contact keys its answer taught us."""

    external_id: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The channel answered with an error; ``error.action`` may be UNKNOWN where it may have accepted all the same."""

    error: ChannelError


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """No byte of the message left this process (no connection, deadline passed before the first byte)."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeUnknown:
    """The request left and no answer that can be read came back."""

    reason: str


Outcome = Accepted | Refused | NotSent | OutcomeUnknown


class FileCarrier(Protocol):
    """How files come from a channel and get to it."""

    upload_days: float | None
    """How long an uploaded file's id may be used; ``None``: files are not uploaded, ``deliver`` needs none."""

    def download(self, media: MediaRef) -> AbstractAsyncContextManager[MediaStream]:
        """The bytes of a file that came with a message, as a stream.

        Raises ``errors.MediaUnavailable`` on entering or between two pieces. One try; a fresh address for the same file
        is part of it.
        """
        ...

    async def upload(self, file: Media, chunks: AsyncIterator[bytes]) -> str:
        """Hand a stored file to the channel, piece by piece; returns the channel's id of it.

        One try, which changes nothing the customer sees. Raises ``errors.MediaUnavailable``.
        """
        ...


class Channel(FileCarrier, Protocol):
    """One connected number, bot or widget. Its instance holds the channel's settings and secrets."""

    name: ChannelName
    account: AccountId
    kind: str
    route: str | None
    """The id inside a webhook that names this channel (WhatsApp: phone_number_id)."""
    pair_burst: int | None
    """How many messages to one contact may leave in a burst; ``None``: the channel has no such limit."""
    pair_seconds: float
    """Seconds after which one message of the burst's credit is back."""
    is_idempotent: bool
    """Whether a second delivery of the same key has no second effect: a lost attempt is then made again."""
    working_seconds: float | None
    """How long a sign of ``show_working`` stays; ``None``: the channel has no such sign, and it is not called."""

    def answer_verification(self, request: WebhookRequest) -> WebhookAnswer:
        """Answer the channel's GET that proves the URL is ours."""
        ...

    def verify(self, request: WebhookRequest) -> None:
        """Raise ``errors.SignatureInvalid`` unless one of the active secrets signed the raw body."""
        ...

    def parse(self, body: bytes) -> Sequence[Item]:
        """Every item of a verified body; raises ``errors.BodyUnreadable`` only for no JSON or too deep a nesting."""
        ...

    def compose(self, message: OutgoingMessage, file: Media | None = None) -> Sequence[Part]:
        """The parts in which the channel can carry a message, in order; none for a blank text. Pure.

        ``file`` is what the message's media is, stored. A caption that does not fit follows as text. Raises
        ``errors.MessageUnsendable`` for what the channel cannot carry.
        """
        ...

    async def deliver(self, delivery: Delivery) -> Outcome:
        """One call, no retry; checks ``delivery.deadline`` as the last act before the first byte."""
        ...

    async def show_working(self, message_external_id: str) -> None:
        """Mark this message and all before it as read, and show that an answer is being written.

        May raise anything: nothing depends on it.
        """
        ...

    async def close(self) -> None: ...
