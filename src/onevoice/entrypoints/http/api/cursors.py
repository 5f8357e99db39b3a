"""Opaque cursors: where a page ended, not which page it was.

A cursor survives inserted and changed rows. Anything else than a cursor of the same list is refused with a
sentence, whatever its bytes.
"""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from onevoice.entrypoints.http.api.errors import ApiError

__all__ = [
    "ConversationsCursor",
    "NotesCursor",
    "OutboundCursor",
    "TimelineCursor",
    "decode_cursor",
    "encode_cursor",
]

_CURSOR_CHARS_MAX = 512
_NUMBER_MAX = 2**63 - 1
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)


class ConversationsCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="conversations"):
    """The last conversation of the page, by activity and id."""

    at: datetime = _LATEST
    id: UUID = UUID(int=0)


class OutboundCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="outbound"):
    """The last message of the page; newest first."""

    seq: int = _NUMBER_MAX


class NotesCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="notes"):
    """The last note of the page; newest first."""

    at: datetime = _LATEST
    id: UUID = UUID(int=0)


class TimelineCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="timeline"):
    """How far each source of the timeline has been read, in the source's own order.

    A message that is committed late, with an earlier time than what a page has shown, is therefore still
    ahead of the cursor.
    """

    inbound: int = 0
    outbound: int = 0
    turn_at: datetime = _EARLIEST
    turn_id: UUID = UUID(int=0)
    effect_at: datetime = _EARLIEST
    effect_id: UUID = UUID(int=0)
    journal: int = 0


AnyCursor = ConversationsCursor | NotesCursor | OutboundCursor | TimelineCursor
Cursor = TypeVar("Cursor", bound=AnyCursor)


def encode_cursor(cursor: AnyCursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).rstrip(b"=").decode()


def decode_cursor(text: str | None, kind: type[Cursor]) -> Cursor:
    """The position a cursor names; without one, the start of the list."""
    if text is None:
        return kind()
    try:
        if len(text) > _CURSOR_CHARS_MAX:
            raise ValueError("too long")
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        cursor = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=kind)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise _refusal() from None
    if not _within_bounds(cursor):
        raise _refusal()
    return cursor


def _within_bounds(cursor: AnyCursor) -> bool:
    for name in cursor.__struct_fields__:
        value = getattr(cursor, name)
        if isinstance(value, int) and not 0 <= value <= _NUMBER_MAX:
            return False
        if isinstance(value, datetime) and (value.tzinfo is None or not _EARLIEST <= value <= _LATEST):
            return False
    return True


def _refusal() -> ApiError:
    return ApiError(
        422,
        "invalid_request",
        "cursor: it is not a cursor of this list; pass next_cursor of the page before, unchanged, or none.",
        faults=[{"field": "cursor", "message": "it is not a cursor of this list"}],
    )
