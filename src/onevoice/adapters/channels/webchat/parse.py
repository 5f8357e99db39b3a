"""What the chat page's route hands in, as items.

A submission is JSON: ``visitor`` (verified by the route), then either a message (``id``, ``text``,
optional ``name``) or receipts (``receipts``: the external ids, ``status``: delivered or read).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from onevoice.errors import BodyUnreadable
from onevoice.ports.channel import ContactRef, Item, ItemKind, MessageItem, StatusItem, UnknownItem


class _Submission(msgspec.Struct, frozen=True, kw_only=True):
    visitor: str
    id: str | None = None
    text: str | None = None
    name: str | None = None
    receipts: tuple[str, ...] = ()
    status: Literal["delivered", "read"] | None = None


def contact_key(visitor: str) -> str:
    """The canonical form of a visitor, which decides the conversation."""
    return f"visitor:{visitor}"


def outbound_external_id(visitor: str, key: str) -> str:
    """Names a delivered message for ever; with the visitor, because keys are unique per conversation only."""
    return f"webchat:{visitor}:{key}"


def parse_submission(body: bytes) -> Sequence[Item]:
    """The items of one submission; an unknown shape is kept as it came."""
    try:
        submission = msgspec.json.decode(body, type=_Submission)
    except msgspec.ValidationError:
        return (UnknownItem(reason="webchat_shape_unknown", raw=body),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BodyUnreadable from None
    if submission.id and submission.text is not None:
        return (_message(submission, submission.id, submission.text, body),)
    if submission.status is not None:
        return tuple(
            StatusItem(
                external_id=external_id,
                status=submission.status,
                raw=body,
                recipient_aliases=(contact_key(submission.visitor),),
            )
            for external_id in submission.receipts
        )
    return (UnknownItem(reason="webchat_shape_unknown", raw=body),)


def _message(submission: _Submission, client_id: str, text: str, body: bytes) -> MessageItem:
    key = contact_key(submission.visitor)
    return MessageItem(
        # The client's id makes a repeated post count once; the visitor keeps two clients' ids apart.
        external_id=f"{submission.visitor}:{client_id}",
        contact=ContactRef(
            address=submission.visitor, key=key, aliases=(key,), name=_storable(submission.name or "") or None
        ),
        kind=ItemKind.ARRIVAL,
        type="text",
        text=_storable(text),
        raw=body,
    )


def _storable(text: str) -> str:
    """PostgreSQL's text holds no NUL; everything else JSON can carry is kept."""
    return text.replace("\x00", "").strip()
