"""A message as the chat page shows it: text, files, and choices to tap. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onevoice.errors import MessageUnsendable
from onevoice.ports.channel import Part
from onevoice.vocabulary import Media, MediaKind, OutgoingMessage

CHOICES_MAX = 30
LABEL_CHARS_MAX = 200


def compose(message: OutgoingMessage, file: Media | None) -> Sequence[Part]:
    """Implements ``Channel.compose``: one part."""
    if message.template is not None:
        raise MessageUnsendable(
            "not_supported", "a chat page has no templates and no closed window; send a text"
        )
    if message.reaction is not None:
        raise MessageUnsendable("not_supported", "a chat page shows no reactions; send a text")
    if message.media is not None and file is not None:
        return (_media(message, file),)
    text = message.text.strip()
    payload = _choices(message)
    if payload and not text:
        raise MessageUnsendable("text_missing", "buttons and menus stand below a text; give the message one")
    return (Part(text=text, payload=payload),) if text else ()


def _media(message: OutgoingMessage, file: Media) -> Part:
    given = message.media
    kind = (given.kind if given else None) or file.kind
    if kind is MediaKind.STICKER:
        kind = MediaKind.IMAGE
    filename = (given.filename if given else None) or file.filename
    caption = message.text.strip()
    payload: dict[str, object] = {"type": kind.value, "media": str(file.id)}
    payload |= {key: value for key, value in (("filename", filename), ("caption", caption)) if value}
    shown = filename if kind is MediaKind.DOCUMENT else None
    bare = OutgoingMessage(media=replace(given, kind=kind, filename=shown) if given else None)
    return Part(text=caption or bare.words, payload=payload)


def _choices(message: OutgoingMessage) -> dict[str, object]:
    if message.buttons:
        _check_count(len(message.buttons))
        buttons = [{"id": _label(button.id), "title": _label(button.title)} for button in message.buttons]
        return {"type": "buttons", "buttons": buttons}
    if message.menu is not None:
        _check_count(sum(len(section.rows) for section in message.menu.sections))
        return {
            "type": "menu",
            "button": _label(message.menu.button),
            "sections": [
                {
                    **({"title": _label(section.title)} if section.title else {}),
                    "rows": [
                        {"id": _label(row.id), "title": _label(row.title)}
                        | ({"description": _label(row.description)} if row.description else {})
                        for row in section.rows
                    ],
                }
                for section in message.menu.sections
            ],
        }
    return {}


def _check_count(count: int) -> None:
    if not 0 < count <= CHOICES_MAX:
        raise MessageUnsendable(
            "too_many_rows",
            f"the message has {count} choices, and the page shows 1 to {CHOICES_MAX}; change it",
        )


def _label(text: str) -> str:
    shown = text.strip()
    if not 0 < len(shown) <= LABEL_CHARS_MAX:
        raise MessageUnsendable(
            "label_length",
            f"a choice's id, title or description has {len(shown)} characters, and the page shows 1 to "
            f"{LABEL_CHARS_MAX}; change it",
        )
    return shown
