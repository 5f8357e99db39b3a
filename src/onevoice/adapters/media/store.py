"""Files in a folder or in S3-compatible storage, through one library for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, S3Store

from onevoice.errors import MediaUnavailable

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import S3Config

PIECE_BYTES = 1024 * 1024
CONNECT_TIMEOUT = timedelta(seconds=5)
READ_TIMEOUT = timedelta(seconds=30)
# Of one call as a whole: five pieces on the way in, but a whole file on the way out.
CALL_TIMEOUT = timedelta(seconds=600)
GIVE_UP_SECONDS = 5.0
RETRY_TIMEOUT = timedelta(seconds=10)


def open_folder(folder: Path) -> ObjectMediaStore:
    """Keep files below ``folder``, which is made readable for its owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return ObjectMediaStore(LocalStore(prefix=folder.absolute()))


def open_bucket(
    url: str,
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
) -> ObjectMediaStore:
    """Keep files in an S3-compatible bucket, ``s3://bucket/prefix``; nothing is called yet.

    What is not given comes from the environment, as for any program of AWS.
    """
    given = {
        "endpoint": endpoint_url,
        "region": region,
        "access_key_id": access_key_id,
        "secret_access_key": secret_access_key,
    }
    config = cast("S3Config", {key: value for key, value in given.items() if value is not None})
    return ObjectMediaStore(
        S3Store.from_url(
            url,
            config=config,
            client_options={
                "allow_http": (endpoint_url or "").startswith("http://"),
                "connect_timeout": CONNECT_TIMEOUT,
                "read_timeout": READ_TIMEOUT,
                "timeout": CALL_TIMEOUT,
            },
            # Who calls tries again by themselves, and later.
            retry_config={"max_retries": 2, "retry_timeout": RETRY_TIMEOUT},
        )
    )


class ObjectMediaStore:
    """Implements ports/media_store.py. A file appears whole or not at all, also after a crash in the middle."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def write(self, key: str, chunks: AsyncIterable[bytes]) -> None:
        source = _Source(chunks)
        call = obstore.put_async(self._store, key, source, chunk_size=5 * PIECE_BYTES)
        writing = asyncio.ensure_future(call)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            # Cancelled itself, the library would leave its wait for a piece and the parts it has uploaded behind.
            await source.stop()
            await asyncio.wait([writing], timeout=GIVE_UP_SECONDS)
            if not writing.cancel():
                writing.exception()
            raise
        except (BaseError, OSError) as error:
            if error is source.error:
                raise
            raise _unavailable(error) from error

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            found = await obstore.get_async(self._store, key, options=options if start or end else {})
            async for piece in found.stream(min_chunk_size=PIECE_BYTES):
                yield bytes(piece)
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def delete(self, key: str) -> None:
        try:
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def close(self) -> None:
        """Nothing of its own to close."""


class _Source(AsyncIterator[bytes]):
    """What is written, keeping in mind what it raised: an ``OSError`` of a channel is not one of the store."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self.error: Exception | None = None
        self._chunks = aiter(chunks)
        self._waiting: asyncio.Task[object] | None = None
        self._stopped = False

    async def stop(self) -> None:
        """Raise instead of giving a next piece, also where one is waited for."""
        self._stopped = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.cancel()
            await asyncio.wait([self._waiting])

    async def __anext__(self) -> bytes:
        if self._stopped:
            # Not the end of the pieces, which would make half a file a whole one.
            raise OSError("the write was given up")
        self._waiting = asyncio.current_task()
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.error = error
            raise


def _unavailable(error: Exception) -> MediaUnavailable:
    """A missing file stays missing; everything else may be over by the next try."""
    if isinstance(error, FileNotFoundError):
        return MediaUnavailable("missing", retry=False)
    return MediaUnavailable("store_unavailable")
