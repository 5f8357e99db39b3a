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
    # Of its four spellings, the one that browsers and providers know.
    ".wav": "audio/wav",
}


def sniff_type(head: bytes, kind: MediaKind, *, filename: str | None = None) -> str | None:
    """The MIME type of a file that starts with ``head``; ``None`` when it is another kind of file than it came as.

    What nobody recognises is ``text/plain`` where it can be read, else ``application/octet-stream``.
    """
    found = _recognise(head) or _recognise_frame(head)
    if not found:
        return "text/plain" if kind is MediaKind.DOCUMENT and _is_text(head) else UNKNOWN_TYPE
    if kind is MediaKind.DOCUMENT:
        # Office files are archives of one kind, and a phone's recordings films without a picture: only their names
        # tell them apart.
        suffix = PurePosixPath(filename or "").suffix.lower()
        if suffix == ".m4a" and found[0][0] == "video/mp4":
            return _TYPE_OF_EXTENSION[suffix]
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


def _recognise_frame(head: bytes) -> list[tuple[str, str]]:
    """An MP3 that begins with its sound, as speech synthesis writes it: the library knows the high rates only.

    Eleven bits are set; then version, layer III, and a bit rate and a sampling rate that exist.
    """
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return []
    is_reserved = head[1] & 0x18 == 0x08 or head[2] >> 4 in {0x0, 0xF} or head[2] & 0x0C == 0x0C
    return [] if is_reserved else [("audio/mpeg", ".mp3")]


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
