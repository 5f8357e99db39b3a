"""The file of a customer's message, as the webhook names it. Nothing in here was checked against its bytes yet."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from typing import Final

from onevoice.adapters.channels.whatsapp.shape import (
    NAME_CHARS_MAX,
    Object,
    as_object,
    identifier_at,
    text_at,
)
from onevoice.ports.channel import MediaRef
from onevoice.vocabulary import MediaKind

FILENAME_CHARS_MAX: Final = 120

_DIGEST_BYTES: Final = 32
_PATH = re.compile(r"[/\\]")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}$")


def attachment_of(message: Object, message_type: str) -> MediaRef | None:
    """The file of a message; ``None`` for a type without one, or when it has no id to fetch it by.

    An edit has none: its words change, the file stays that of the message it edits.
    """
    if message_type not in tuple(MediaKind):
        return None
    described = as_object(message.get(message_type))
    external_id = identifier_at(described, "id")
    if external_id is None:
        return None
    return MediaRef(
        kind=MediaKind(message_type),
        external_id=external_id,
        mime_type=text_at(described, "mime_type", NAME_CHARS_MAX),
        sha256=_digest(text_at(described, "sha256", NAME_CHARS_MAX)),
        filename=clean_filename(text_at(described, "filename", NAME_CHARS_MAX)),
    )


def clean_filename(filename: str | None, *, chars_max: int = FILENAME_CHARS_MAX) -> str | None:
    """What somebody called a file, to be shown: no path, no control or direction characters, its extension kept.

    >>> clean_filename("../nota\\u202efdp.exe"), clean_filename(" .. ")
    ('notafdp.exe', None)
    """
    last = _PATH.split(filename or "")[-1]
    visible = "".join(
        " " if character.isspace() else character
        for character in last
        if character.isspace() or not unicodedata.category(character).startswith("C")
    )
    name = " ".join(visible.split()).lstrip(". ").rstrip(". ")
    if len(name) > chars_max:
        extension = _EXTENSION.search(name)
        ending = extension[0] if extension else ""
        name = name[: chars_max - len(ending)] + ending
    return name or None


def _digest(encoded: str | None) -> bytes | None:
    """The raw SHA-256; ``None`` for what is none, such as the shortened ones of examples."""
    try:
        digest = base64.b64decode(encoded or "", validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest if len(digest) == _DIGEST_BYTES else None
