"""Reading an answer of the Graph API, never more of it than expected."""

from __future__ import annotations

import httpx2


async def read_bounded(response: httpx2.Response, *, bytes_max: int) -> bytes | None:
    """The raw body; ``None`` when it is longer, without reading on.

    Raw: an answer compressed against our wish cannot unpack to any size; it is no JSON, and read as such.
    """
    answer = bytearray()
    async for chunk in response.aiter_raw():
        answer += chunk
        if len(answer) > bytes_max:
            return None
    return bytes(answer)
