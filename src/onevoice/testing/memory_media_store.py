"""A media store in memory, with a fault on request."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from onevoice.errors import MediaUnavailable


class MemoryMediaStore:
    """Implements ports/media_store.py. ``files`` are what it holds; while ``is_away`` every call fails.

    >>> store = MemoryMediaStore()
    >>> store.files["default/1"] = b"OggS"
    >>> asyncio.run(anext(store.read("default/1", start=1)))
    b'ggS'
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.is_away = False

    async def write(self, key: str, chunks: AsyncIterable[bytes]) -> None:
        self._check()
        content = bytearray()
        async for chunk in chunks:
            content += chunk
        self.files[key] = bytes(content)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        self._check()
        if key not in self.files:
            raise MediaUnavailable("missing", retry=False)
        yield self.files[key][start:end]

    async def delete(self, key: str) -> None:
        self._check()
        self.files.pop(key, None)

    async def close(self) -> None:
        """Nothing is open."""

    def _check(self) -> None:
        if self.is_away:
            raise MediaUnavailable("store_unavailable")
