"""Measuring a file while it streams past."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, AsyncIterator

from onevoice.flow.media.sniff import HEAD_BYTES


class Meter:
    """Size, digest and first bytes of what went through ``measure``; nothing else of it is kept."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._digest = hashlib.sha256()
        self._head = bytearray()

    @property
    def digest(self) -> bytes:
        """SHA-256, raw."""
        return self._digest.digest()

    @property
    def head(self) -> bytes:
        """What says of which type the file is."""
        return bytes(self._head)

    async def measure(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            self.size_bytes += len(chunk)
            self._digest.update(chunk)
            if len(self._head) < HEAD_BYTES:
                self._head += chunk[: HEAD_BYTES - len(self._head)]
            yield chunk
