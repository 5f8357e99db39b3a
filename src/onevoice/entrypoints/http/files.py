"""Files of messages over HTTP: streamed from the store, and harmless to the page that shows them.

Whoever calls this has decided that the reader may see the file. What a browser would run is never shown in place.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from onevoice.flow.media.decide import media_key
from onevoice.ports.media_store import MediaStore
from onevoice.vocabulary import AccountId, Media

SHOWN_IN_PLACE = frozenset({
    "image/jpeg", "image/png", "image/gif", "image/webp",
    "audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav", "audio/webm",
    "video/3gpp", "video/mp4", "video/webm",
})  # fmt: skip
_RANGE = re.compile(r"bytes=(?P<start>[0-9]{0,15})-(?P<end>[0-9]{0,15})")


async def serve_file(
    store: MediaStore, account: AccountId, file: Media, *, range_header: str | None = None
) -> Response:
    """A stored file, or the one range of it that is asked for.

    Raises ``MediaUnavailable`` when the store has no first byte of it.
    """
    size = file.size_bytes or 0
    wanted = _read_range(range_header, size)
    if wanted is None:
        return Response(status_code=416, headers=headers_of(file) | {"content-range": f"bytes */{size}"})
    start, end = wanted
    is_part = (start, end) != (0, size)
    pieces = store.read(media_key(account, file.id), start=start, end=end if is_part else None)
    # The first piece is read before the head leaves: a store that is away is an answer, not a broken one.
    first = await anext(pieces, b"")
    headers = headers_of(file) | {"content-length": str(end - start)}
    if is_part:
        headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
    return StreamingResponse(
        _joined(first, pieces),
        status_code=206 if is_part else 200,
        media_type=file.mime_type or "application/octet-stream",
        headers=headers,
    )


def headers_of(file: Media) -> dict[str, str]:
    """What keeps a file from being anything but a file."""
    in_place = file.mime_type in SHOWN_IN_PLACE
    disposition = "inline" if in_place else "attachment"
    if file.filename:
        disposition += f"; filename*=UTF-8''{quote(file.filename, safe='')}"
    return {
        "content-disposition": disposition,
        # A browser's own page around an image has styles inside.
        "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "cache-control": "private, max-age=3600",
        "accept-ranges": "bytes",
    }


def _read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """From where up to where; the whole file for no header or one nobody understands, ``None`` beyond its end."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or not (match["start"] or match["end"]):
        return 0, size
    if not match["start"]:
        return (max(0, size - int(match["end"])), size) if int(match["end"]) and size else None
    start = int(match["start"])
    end = min(size, int(match["end"]) + 1) if match["end"] else size
    return (start, end) if start < end else None


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece
