"""A file handed to the Graph API before the message that names it, piece by piece (wire format 1.12).

An upload changes nothing the customer sees: one that is lost on the way is simply made again.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Final

import httpx2

from onevoice.adapters.channels.whatsapp.answer import read_bounded
from onevoice.adapters.channels.whatsapp.errors import classify, read_error
from onevoice.adapters.channels.whatsapp.shape import as_object, decode_json, identifier_at
from onevoice.errors import BodyUnreadable, MediaUnavailable
from onevoice.ports.channel import ChannelError
from onevoice.vocabulary import ErrorAction, Media

# The API keeps an uploaded file for thirty days; a day less leaves no doubt.
UPLOAD_DAYS: Final = 29.0
_ANSWER_BYTES_MAX: Final = 100_000
_TIMEOUT: Final = httpx2.Timeout(connect=10.0, read=60.0, write=30.0, pool=10.0)


async def upload(
    file: Media, chunks: AsyncIterator[bytes], *, http: httpx2.AsyncClient, url: str, access_token: str
) -> str:
    """Implements ``Channel.upload``; ``url`` is the number's media edge."""
    boundary = secrets.token_hex(16)
    head, tail = _frame(file, boundary)
    request = http.build_request(
        "POST",
        url,
        content=_stream(head, chunks, tail),
        headers={
            "authorization": f"Bearer {access_token}",
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(head) + (file.size_bytes or 0) + len(tail)),
            "accept": "application/json",
            "accept-encoding": "identity",
        },
        timeout=_TIMEOUT,
    )
    try:
        response = await http.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            answer = await read_bounded(response, bytes_max=_ANSWER_BYTES_MAX)
        finally:
            await response.aclose()
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
        raise MediaUnavailable("channel_unreachable") from error
    if answer is None:
        raise MediaUnavailable("answer_unreadable")
    return _read_id(response.status_code, answer)


def _frame(file: Media, boundary: str) -> tuple[bytes, bytes]:
    """What stands before and after the bytes. The name the customer sees goes with the message, not with the file."""
    mime_type = file.mime_type or "application/octet-stream"
    fields = [("messaging_product", "whatsapp"), ("type", mime_type)]
    parts = [
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    parts.append(
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="file"\r\n'
        f"content-type: {mime_type}\r\n\r\n"
    )
    return "".join(parts).encode(), f"\r\n--{boundary}--\r\n".encode()


async def _stream(head: bytes, chunks: AsyncIterator[bytes], tail: bytes) -> AsyncIterator[bytes]:
    yield head
    async for chunk in chunks:
        yield chunk
    yield tail


def _read_id(status: int, answer: bytes) -> str:
    try:
        holder = as_object(decode_json(answer))
    except BodyUnreadable:
        holder = {}
    external_id = identifier_at(holder, "id")
    if 200 <= status < 300 and external_id is not None:
        return external_id
    if "error" not in holder and 200 <= status < 300:
        raise MediaUnavailable("answer_unreadable")
    code, detail = read_error(holder.get("error"))
    raise _refusal(classify(code, status, detail))


def _refusal(error: ChannelError) -> MediaUnavailable:
    """What the channel finds wrong with the file stays wrong; everything else may be over by the next try."""
    is_final = error.action in (ErrorAction.FIX, ErrorAction.DROP) or error.code in ("http_400", "http_413")
    reason = f"channel_{error.code}"
    return MediaUnavailable(reason, retry=not is_final, retry_after_seconds=error.retry_after_seconds)
