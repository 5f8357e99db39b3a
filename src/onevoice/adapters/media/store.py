"""Files in a folder or in S3-compatible storage, through one library for both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, S3Store

from onevoice.errors import MediaUnavailable

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import S3Config

LOG = logging.getLogger("onevoice.media")

Given = ParamSpec("Given")
Result = TypeVar("Result")

# A write has its thread as long as the file takes to come.
THREADS_MAX = 64
PIECE_BYTES = 1024 * 1024
# Parts on their way to a bucket; each is in memory as long.
PARTS_AT_ONCE = 2
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
    """Implements ports/media_store.py. A file appears whole or not at all, also after a crash in the middle.

    The library is called in threads: its own asynchronous calls return to Python from threads that are not Python's,
    and one that returns while the process ends aborts it.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(max_workers=THREADS_MAX, thread_name_prefix="media")

    async def write(self, key: str, chunks: AsyncIterable[bytes]) -> None:
        pieces = _Pieces(chunks)
        writing = self._start(
            obstore.put, self._store, key, pieces, chunk_size=5 * PIECE_BYTES, max_concurrency=PARTS_AT_ONCE
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The thread sees an error in the place of the next piece, and takes back what it has stored.
            pieces.stop()
            await asyncio.wait([writing], timeout=GIVE_UP_SECONDS)
            if writing.done():
                writing.exception()
            raise
        except (BaseError, OSError) as error:
            if error is pieces.error:
                raise
            raise _unavailable(error) from error

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            found = await self._start(obstore.get, self._store, key, options=options if start or end else {})
            pieces = iter(found.stream(min_chunk_size=PIECE_BYTES))
            while (piece := await self._start(next, pieces, None)) is not None:
                yield bytes(piece)
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def delete(self, key: str) -> None:
        try:
            await self._start(obstore.delete, self._store, key)
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def close(self) -> None:
        """Let calls that still run end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start(
        self, call: Callable[Given, Result], /, *given: Given.args, **named: Given.kwargs
    ) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *given, **named))


class _Pieces(Iterator[bytes]):
    """What is written, for a thread that asks the event loop for one piece after the other.

    ``error`` is what the source raised: an ``OSError`` of a channel is not one of the store.
    """

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self.error: Exception | None = None
        self._chunks = aiter(chunks)
        self._loop = asyncio.get_running_loop()
        self._reading: asyncio.Task[object] | None = None
        self._stopped = False

    def __next__(self) -> bytes:
        piece = asyncio.run_coroutine_threadsafe(self._read(), self._loop).result()
        if not piece:
            raise StopIteration
        return piece

    def stop(self) -> None:
        """Give an error instead of a next piece, also where one is waited for. Called on the event loop."""
        self._stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> bytes:
        """Chunks together as large as a piece, because each piece is a way between threads; empty at the end."""
        if self._stopped:
            # Not the end of the pieces, which would make half a file a whole one.
            raise OSError("the write was given up")
        self._reading = asyncio.current_task()
        piece = bytearray()
        try:
            async for chunk in self._chunks:
                piece += chunk
                if len(piece) >= PIECE_BYTES:
                    break
        except Exception as error:
            self.error = error
            raise
        return bytes(piece)


def _unavailable(error: Exception) -> MediaUnavailable:
    """A missing file stays missing; everything else may be over by the next try."""
    if isinstance(error, FileNotFoundError):
        return MediaUnavailable("missing", retry=False)
    # The kind alone: the library's own words quote the answer of whoever stands there.
    LOG.warning("the store of files does not answer", extra={"reason": type(error).__name__})
    return MediaUnavailable("store_unavailable")
