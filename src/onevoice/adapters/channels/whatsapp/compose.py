"""A message as the parts that WhatsApp carries, its limits checked before anything is sealed (1.10, 1.12).

Lengths are counted in UTF-16 code units, which are never fewer than what the API may count. A caption that does not
fit follows as text; everything else that is too long is refused with its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from onevoice.adapters.channels.whatsapp.attachment import clean_filename
from onevoice.adapters.channels.whatsapp.format import format_text
from onevoice.adapters.channels.whatsapp.shape import Object, clean
from onevoice.adapters.channels.whatsapp.split import split_text
from onevoice.errors import MessageUnsendable
from onevoice.ports.channel import Part
from onevoice.vocabulary import Button, Media, MediaKind, Menu, MenuRow, OutgoingMessage, Template

CAPTION_UNITS_MAX: Final = 1024
BUTTONS_MAX: Final = 3
ROWS_MAX: Final = 10
EMOJI_UNITS_MAX: Final = 32
FILENAME_CHARS_MAX: Final = 240

_MIB: Final = 2**20
_BYTES_MAX: Final = {
    MediaKind.IMAGE: 5 * _MIB,
    MediaKind.VIDEO: 16 * _MIB,
    MediaKind.AUDIO: 16 * _MIB,
    MediaKind.DOCUMENT: 100 * _MIB,
}
# A document may be of any type.
_TYPES: Final = {
    MediaKind.IMAGE: ("image/jpeg", "image/png"),
    MediaKind.VIDEO: ("video/mp4", "video/3gpp"),
    MediaKind.AUDIO: ("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"),
}


def compose(message: OutgoingMessage, file: Media | None) -> Sequence[Part]:
    """Implements ``Channel.compose``."""
    if message.template is not None:
        return (Part(text=message.words, payload=_template(message.template)),)
    if message.reaction is not None:
        if not _may_be_emoji(message.reaction.emoji):
            raise MessageUnsendable("not_an_emoji", "a reaction is one emoji; send a text instead")
        payload = {
            "type": "reaction",
            "message": message.reaction.message,
            "emoji": message.reaction.emoji,
        }
        return (Part(text=message.words, payload=payload),)
    if message.media is not None and file is not None:
        return _media(message, file)
    if message.buttons:
        return (Part(text=_body(message.text, 1024), payload=_buttons(message.buttons)),)
    if message.menu is not None:
        return (Part(text=_body(message.text, 4096), payload=_menu(message.menu)),)
    return [Part(text=text) for text in split_text(message.text)]


def _may_be_emoji(text: str) -> bool:
    """Empty takes a reaction back. Flags and families are many code points, but none is a letter or a space.

    But for one: Unicode counts ℹ among the letters.
    """
    return units(text) <= EMOJI_UNITS_MAX and not any(
        character.isspace() or (character.isalpha() and character != "ℹ") for character in text
    )


def _media(message: OutgoingMessage, file: Media) -> Sequence[Part]:
    given = message.media
    kind = _choose_kind(file, given.kind if given else None)
    caption = format_text(clean(message.text)).strip()
    filename = clean_filename(
        (given.filename if given else None) or file.filename, chars_max=FILENAME_CHARS_MAX
    )
    payload: Object = {"type": kind.value, "media": str(file.id)}
    if kind is MediaKind.DOCUMENT and filename:
        payload["filename"] = filename
    if kind is MediaKind.AUDIO and file.mime_type == "audio/ogg":
        payload["voice"] = True
    fits = kind is not MediaKind.AUDIO and units(caption) <= CAPTION_UNITS_MAX
    if caption and fits:
        return (Part(text=caption, payload=payload | {"caption": caption}),)
    shown = filename if kind is MediaKind.DOCUMENT else None
    bare = OutgoingMessage(media=replace(given, kind=kind, filename=shown) if given else None)
    return [Part(text=bare.words, payload=payload), *(Part(text=text) for text in split_text(caption))]


def _choose_kind(file: Media, wanted: MediaKind | None) -> MediaKind:
    """What the file goes as; raises for a kind that was asked for and cannot be."""
    kind = wanted or file.kind
    fault = _fault(file, kind)
    if fault is None:
        return kind
    if wanted is not None:
        raise fault
    if (fault := _fault(file, MediaKind.DOCUMENT)) is not None:
        raise fault
    return MediaKind.DOCUMENT


def _fault(file: Media, kind: MediaKind) -> MessageUnsendable | None:
    if kind not in _BYTES_MAX:
        return MessageUnsendable(
            "not_supported", f"a {kind.value} cannot be sent over WhatsApp; send it as an image or a document"
        )
    if kind in _TYPES and file.mime_type not in _TYPES[kind]:
        return MessageUnsendable(
            "file_type_unsupported",
            f"WhatsApp takes no {file.mime_type} as {kind.value} (but {', '.join(_TYPES[kind])}); "
            "send it as a document",
        )
    if (file.size_bytes or 0) > _BYTES_MAX[kind]:
        return MessageUnsendable(
            "file_too_large",
            f"the file has {file.size_bytes} bytes, and WhatsApp takes at most {_BYTES_MAX[kind]} as {kind.value}; "
            "send a smaller one" + ("" if kind is MediaKind.DOCUMENT else ", or send it as a document"),
        )
    return None


def _buttons(buttons: Sequence[Button]) -> Object:
    if len(buttons) > BUTTONS_MAX:
        raise MessageUnsendable(
            "too_many_buttons",
            f"{len(buttons)} buttons, and WhatsApp shows at most {BUTTONS_MAX}; use a menu",
        )
    _check_distinct("ids_repeated", "button id", [button.id for button in buttons])
    _check_distinct("titles_repeated", "button title", [button.title.strip() for button in buttons])
    return {
        "type": "buttons",
        "buttons": [
            {"id": _short("a button's id", b.id, 256), "title": _short("a button's title", b.title, 20)}
            for b in buttons
        ],
    }


def _menu(menu: Menu) -> Object:
    rows = [row for section in menu.sections for row in section.rows]
    if not rows or any(not section.rows for section in menu.sections):
        raise MessageUnsendable("menu_empty", "a menu's section has no rows; give it one or leave it out")
    if len(rows) > ROWS_MAX:
        raise MessageUnsendable(
            "too_many_rows",
            f"the menu has {len(rows)} rows, and WhatsApp shows at most {ROWS_MAX}; leave some out",
        )
    _check_distinct("ids_repeated", "row id", [row.id for row in rows])
    if len(menu.sections) > 1 and any(not section.title for section in menu.sections):
        raise MessageUnsendable("section_untitled", "a menu of several sections needs a title for each")
    return {
        "type": "menu",
        "button": _short("the menu's button", menu.button, 20),
        "sections": [
            {
                **({"title": _short("a section's title", section.title, 24)} if section.title else {}),
                "rows": [_row(row) for row in section.rows],
            }
            for section in menu.sections
        ],
    }


def _row(row: MenuRow) -> Object:
    shown: Object = {"id": _short("a row's id", row.id, 200), "title": _short("a row's title", row.title, 24)}
    if row.description:
        shown["description"] = _short("a row's description", row.description, 72)
    return shown


def _template(template: Template) -> Object:
    return {
        "type": "template",
        "name": _short("the template's name", template.name, 512),
        "language": _short("the template's language", template.language, 16),
        "components": [dict(component) for component in template.components],
    }


def _body(text: str, units_max: int) -> str:
    body = format_text(clean(text)).strip()
    if not body:
        raise MessageUnsendable("text_missing", "buttons and menus stand below a text; give the message one")
    if units(body) > units_max:
        raise MessageUnsendable(
            "text_too_long",
            f"the text above the choices has {units(body)} characters, and WhatsApp takes at most {units_max}; "
            "shorten it, or send most of it before",
        )
    return body


def _short(what: str, text: str, units_max: int) -> str:
    kept = clean(text).strip()
    if not kept or units(kept) > units_max:
        raise MessageUnsendable(
            "label_length",
            f"{what} has {units(kept)} characters, and WhatsApp takes 1 to {units_max}; change it",
        )
    return kept


def _check_distinct(code: str, what: str, labels: Sequence[str]) -> None:
    if len(set(labels)) < len(labels):
        raise MessageUnsendable(code, f"two of the choices have the same {what}; give each its own")


def units(text: str) -> int:
    """The length in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2
