"""Where the bytes of files are kept: a folder, or S3-compatible storage. The rows say which of them count."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Protocol


class MediaStore(Protocol):
    """Files under keys such as ``account/id``. Every call raises ``errors.MediaUnavailable`` when the store is away."""

    async def write(self, key: str, chunks: AsyncIterable[bytes]) -> None:
        """Keep a file piece by piece, never whole in memory; it is there once this returns, replacing an earlier one.

        What ``chunks`` raises comes out of here, and nothing is kept.
        """
        ...

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """The bytes from ``start`` up to but not including ``end``, in pieces.

        Raises ``errors.MediaUnavailable`` ``missing`` when there is no such file.
        """
        ...

    async def delete(self, key: str) -> None:
        """Forget a file; one that is not there is no error."""
        ...

    async def close(self) -> None: ...
