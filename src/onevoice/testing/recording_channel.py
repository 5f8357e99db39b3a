"""A channel whose customer is the test: trivial webhooks in, scripted outcomes out, everything recorded."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from onevoice.errors import BodyUnreadable, MediaUnavailable, MessageUnsendable, SignatureInvalid
from onevoice.ports.channel import (
    Accepted,
    ContactRef,
    Delivery,
    EchoItem,
    Item,
    ItemKind,
    MediaRef,
    MediaStream,
    MessageItem,
    NotSent,
    Outcome,
    Part,
    StatusItem,
    UnknownItem,
    WebhookAnswer,
    WebhookRequest,
)
from onevoice.ports.clock import Clock
from onevoice.testing.gate import CallCount, Gate
from onevoice.vocabulary import AccountId, ChannelName, Media, MediaKind, OutgoingMessage

SIGNATURE_HEADER = "x-recording-signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scripted:
    outcome: Outcome | None
    seen: bool
    gate: Gate


class RecordingChannel:
    """Implements ports/channel.py.

    A webhook's body is ``{"items": [{"id", "from", "text", "name", "type", "kind", "target", "at", "status",
    "echo", "media"}]}``; all but ``id`` are optional; ``media`` is ``{"id", "kind", "mime_type", "sha256",
    "filename"}`` with the digest in hex, and ``files`` holds what can be downloaded. ``webhook`` makes a signed
    request of such items.

    ``deliveries`` are all attempts, ``sent`` those the customer got to see. Without a script every delivery
    is accepted with the ids ``sent-1``, ``sent-2`` …

    >>> channel = RecordingChannel()
    >>> request = channel.webhook({"id": "m1", "from": "ana", "text": "oi"})
    >>> channel.verify(request)
    >>> [item.text for item in channel.parse(request.body) if isinstance(item, MessageItem)]
    ['oi']
    """

    def __init__(
        self,
        name: str = "recording",
        *,
        account: str = "default",
        secret: str = "recording-secret",  # noqa: S107 - Nothing is protected by a test double's secret.
        clock: Clock | None = None,
        part_chars_max: int = 4096,
    ) -> None:
        self.name = ChannelName(name)
        self.account = AccountId(account)
        self.kind = "recording"
        self.route: str | None = None
        self.is_idempotent = False
        self.pair_burst: int | None = None
        self.pair_seconds = 1.0
        self.working_seconds: float | None = None
        self.files: dict[str, bytes | Exception] = {}
        """What ``download`` gives under each external id, or raises."""
        self.downloads: list[MediaRef] = []
        self.upload_days: float | None = None
        """A number makes it a channel that wants files before the messages that carry them."""
        self.uploads: list[bytes] = []
        """The files that were handed over; their ids are ``upload-1``, ``upload-2`` …"""
        self.upload_faults: deque[MediaUnavailable] = deque()
        """What the next uploads raise, one each."""
        self.upload_gate = Gate(opened=True)
        """Where an upload hangs after its bytes were read."""
        self.unsupported: frozenset[str] = frozenset()
        """The types of payload that ``compose`` refuses."""
        self.signs: list[str] = []
        """The messages that ``show_working`` was called with."""
        self.deliveries: list[Delivery] = []
        self.sent: list[Delivery] = []
        self.closed = False
        self._secret = secret.encode()
        self._clock = clock
        self._part_chars_max = part_chars_max
        self._script: deque[_Scripted] = deque()
        self._calls = CallCount(f"the channel {name}")
        self._uploads = CallCount(f"the uploads of the channel {name}")

    @property
    def sent_texts(self) -> list[str]:
        """What the customer read, in order."""
        return [delivery.text for delivery in self.sent]

    def script(self, outcome: Outcome | None = None, *, held: bool = False, seen: bool | None = None) -> Gate:
        """Add the next delivery's outcome (``None``: accepted).

        ``held``: the call hangs at the returned gate. ``seen`` says whether the customer gets the message
        whatever the outcome tells; by default only an accepted one is seen.
        """
        shown = outcome is None or isinstance(outcome, Accepted) if seen is None else seen
        scripted = _Scripted(outcome=outcome, seen=shown, gate=Gate(opened=not held))
        self._script.append(scripted)
        return scripted.gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many deliveries were tried in all."""
        await self._calls.reach(count, seconds_max=seconds_max)

    def webhook(self, *items: Mapping[str, object]) -> WebhookRequest:
        """A signed webhook with these items."""
        body = json.dumps({"items": items}, ensure_ascii=False).encode()
        headers = {SIGNATURE_HEADER: self._signature(body)}
        return WebhookRequest(
            method="POST", url=f"/webhooks/{self.name}", headers=headers, query={}, body=body
        )

    def answer_verification(self, request: WebhookRequest) -> WebhookAnswer:
        return WebhookAnswer(status=200, body=request.query.get("challenge", "").encode())

    def verify(self, request: WebhookRequest) -> None:
        given = request.headers.get(SIGNATURE_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._signature(request.body).encode()):
            raise SignatureInvalid

    def parse(self, body: bytes) -> Sequence[Item]:
        try:
            parsed: object = json.loads(body)
        except (ValueError, RecursionError):
            raise BodyUnreadable from None
        items = cast("dict[str, object]", parsed).get("items") if isinstance(parsed, dict) else None
        if not isinstance(items, list):
            return [UnknownItem(reason="no_items", raw=body)]
        return [_item(entry) for entry in cast("list[object]", items)]

    def compose(self, message: OutgoingMessage, file: Media | None = None) -> Sequence[Part]:
        payload = _payload(message, file)
        if payload.get("type") in self.unsupported:
            raise MessageUnsendable("not_supported", f"this channel has no {payload['type']}")
        if payload:
            return [Part(text=message.words, payload=payload)]
        size, text = self._part_chars_max, message.text
        return [Part(text=text[start : start + size]) for start in range(0, len(text), size)]

    async def deliver(self, delivery: Delivery) -> Outcome:
        self.deliveries.append(delivery)
        scripted = _Scripted(outcome=None, seen=True, gate=Gate(opened=True))
        if self._script:
            scripted = self._script.popleft()
        self._calls.note()
        if self._clock is not None and self._clock.monotonic() >= delivery.deadline:
            return NotSent(reason="deadline_passed")
        if scripted.seen:
            self.sent.append(delivery)
        external_id = f"sent-{len(self.sent)}"
        await scripted.gate.pass_through()
        return scripted.outcome or Accepted(external_id=external_id)

    @asynccontextmanager
    async def download(self, media: MediaRef) -> AsyncGenerator[MediaStream]:
        self.downloads.append(media)
        found = self.files.get(media.external_id, MediaUnavailable("gone", retry=False))
        if isinstance(found, Exception):
            raise found
        yield MediaStream(chunks=_pieces(found), mime_type=media.mime_type, size_bytes=len(found))

    async def upload(self, file: Media, chunks: AsyncIterator[bytes]) -> str:
        content = b"".join([chunk async for chunk in chunks])
        self._uploads.note()
        await self.upload_gate.pass_through()
        if self.upload_faults:
            raise self.upload_faults.popleft()
        self.uploads.append(content)
        return f"upload-{len(self.uploads)}"

    async def uploaded(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many files were handed over in all, taken or not."""
        await self._uploads.reach(count, seconds_max=seconds_max)

    async def show_working(self, message_external_id: str) -> None:
        self.signs.append(message_external_id)

    async def close(self) -> None:
        self.closed = True

    def _signature(self, body: bytes) -> str:
        return hmac.new(self._secret, body, hashlib.sha256).hexdigest()


def _payload(message: OutgoingMessage, file: Media | None) -> dict[str, object]:
    if message.template is not None:
        template = message.template
        components = [dict(component) for component in template.components]
        named = {"name": template.name, "language": template.language, "components": components}
        return {"type": "template", **named}
    if message.reaction is not None:
        return {"type": "reaction", "message": message.reaction.message, "emoji": message.reaction.emoji}
    if message.media is not None and file is not None:
        return {"type": (message.media.kind or file.kind).value, "media": str(file.id)}
    if message.buttons:
        return {"type": "buttons", "buttons": [{"id": b.id, "title": b.title} for b in message.buttons]}
    if message.menu is None:
        return {}
    sections = [
        {"title": section.title, "rows": [{"id": row.id, "title": row.title} for row in section.rows]}
        for section in message.menu.sections
    ]
    return {"type": "menu", "button": message.menu.button, "sections": sections}


def _item(entry: object) -> Item:
    raw = json.dumps(entry, ensure_ascii=False).encode()
    if not isinstance(entry, dict):
        return UnknownItem(reason="not_an_object", raw=raw)
    fields = cast("dict[str, object]", entry)
    external_id = fields.get("id")
    if not isinstance(external_id, str):
        return UnknownItem(reason="no_id", raw=raw)
    status = _text(fields, "status")
    if status is not None:
        return StatusItem(
            external_id=external_id,
            status=status,
            raw=raw,
            at=_moment(fields),
            correlation_id=_text(fields, "correlation_id"),
        )
    address = _text(fields, "from") or "customer"
    contact = ContactRef(address=address, key=address, aliases=(address,), name=_text(fields, "name"))
    type_ = _text(fields, "type") or "text"
    if fields.get("echo"):
        return EchoItem(
            external_id=external_id,
            contact=contact,
            type=type_,
            text=_text(fields, "text"),
            raw=raw,
            sent_at=_moment(fields),
        )
    kind = _text(fields, "kind") or ItemKind.ARRIVAL
    if kind not in tuple(ItemKind):
        return UnknownItem(reason="unknown_kind", raw=raw)
    return MessageItem(
        external_id=external_id,
        contact=contact,
        kind=ItemKind(kind),
        type=type_,
        text=_text(fields, "text"),
        raw=raw,
        sent_at=_moment(fields),
        target_external_id=_text(fields, "target"),
        reply_to_external_id=_text(fields, "reply_to"),
        media=_media(fields.get("media")),
    )


def _media(value: object) -> MediaRef | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    digest = _text(fields, "sha256")
    return MediaRef(
        kind=MediaKind(_text(fields, "kind") or "audio"),
        external_id=_text(fields, "id") or "",
        mime_type=_text(fields, "mime_type"),
        sha256=bytes.fromhex(digest) if digest else None,
        filename=_text(fields, "filename"),
    )


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


def _text(fields: Mapping[str, object], key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) else None


def _moment(fields: Mapping[str, object]) -> datetime | None:
    value = _text(fields, "at")
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
