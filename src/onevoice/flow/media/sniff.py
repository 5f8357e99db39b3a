"""What a file's first bytes say it is. Its sender's claim decides nothing. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final, cast

import puremagic

from onevoice.vocabulary import MediaKind

HEAD_BYTES: Final = 4096
UNKNOWN_TYPE: Final = "application/octet-stream"

# An audio alone in a container of videos is named by the container.
_MAJORS: Final = {
    MediaKind.IMAGE: ("image/",),
    MediaKind.STICKER: ("image/",),
    MediaKind.AUDIO: ("audio/", "video/"),
    MediaKind.VIDEO: ("video/",),
}
# Where the library knows the format by its extension only, or by its container.
_TYPE_OF_EXTENSION: Final = {
    ".amr": "audio/amr",
    ".m4a": "audio/mp4",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
}


def sniff_type(head: bytes, kind: MediaKind, *, filename: str | None = None) -> str | None:
    """The MIME type of a file that starts with ``head``; ``None`` when it is another kind of file than it came as.

    What nobody recognises is ``text/plain`` where it can be read, else ``application/octet-stream``.
    """
    found = _recognise(head)
    if not found:
        return "text/plain" if kind is MediaKind.DOCUMENT and _is_text(head) else UNKNOWN_TYPE
    if kind is MediaKind.DOCUMENT:
        # Office files are archives of one kind: only their names tell them apart.
        suffix = PurePosixPath(filename or "").suffix.lower()
        named = [mime for mime, extension in found if extension == suffix]
        return (named or [mime for mime, _ in found])[0]
    for major in _MAJORS[kind]:
        for mime, _ in found:
            if mime.startswith(major):
                return mime
    return None


def _recognise(head: bytes) -> list[tuple[str, str]]:
    """Types with their extensions, the likeliest first."""
    try:
        # Its records are untyped named tuples.
        matches = cast("list[Any]", puremagic.magic_string(head))  # pyright: ignore[reportUnknownMemberType]
    except (puremagic.PureError, ValueError):
        return []
    found: list[tuple[str, str]] = []
    for match in matches:
        extension = str(match.extension)
        mime = _TYPE_OF_EXTENSION.get(extension) or str(match.mime_type)
        if mime:
            found.append((mime, extension))
    return found


def _is_text(head: bytes) -> bool:
    if b"\x00" in head:
        return False
    # The head may end in the middle of a character.
    for cut in range(4):
        try:
            head[: len(head) - cut].decode()
        except UnicodeDecodeError:
            continue
        return bool(head)
    return False
