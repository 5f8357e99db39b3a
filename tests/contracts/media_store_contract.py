"""What every media store promises (ports/media_store.py). A subclass adds the ``subject`` fixture."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

import pytest

from onevoice.errors import MediaUnavailable
from onevoice.ports.media_store import MediaStore

KEY = "default/01990000-0000-7000-8000-000000000001"
SIZES = [0, 1, 70_000, 5 * 2**20, 12 * 2**20 + 7]


class StoreSubject(ABC):
    """A store, and a hand behind it."""

    store: MediaStore

    @abstractmethod
    async def leave(self) -> None:
        """From now on the storage cannot be reached."""

    @abstractmethod
    def names(self) -> list[str]:
        """All that lies in the storage, half files included."""


def content_of(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


async def pieces(content: bytes, *, size: int = 65_536) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(store: MediaStore, key: str = KEY, **bounds: int) -> bytes:
    return b"".join([piece async for piece in store.read(key, **bounds)])


class MediaStoreContract:
    @pytest.mark.parametrize("size", SIZES)
    async def test_what_was_written_is_read(self, subject: StoreSubject, size: int) -> None:
        """Byte for byte, at any size."""
        await subject.store.write(KEY, pieces(content_of(size)))

        assert await read(subject.store) == content_of(size)
        assert len(subject.names()) == 1

    async def test_pieces_may_be_of_any_size(self, subject: StoreSubject) -> None:
        """Empty ones, single bytes, and one larger than all buffers."""

        async def uneven() -> AsyncIterator[bytes]:
            for size in (0, 1, 7, 6 * 2**20, 0, 3):
                yield content_of(size)

        await subject.store.write(KEY, uneven())

        assert await read(subject.store) == b"".join(content_of(size) for size in (1, 7, 6 * 2**20, 3))

    @pytest.mark.parametrize(
        ("start", "end"), [(0, 1), (0, 10), (3, 10), (69_999, 70_000), (10, None), (0, None), (0, 1_000_000)]
    )
    async def test_a_range_is_read(self, subject: StoreSubject, start: int, end: int | None) -> None:
        """From the start up to but not including the end; an end behind the file's is its end."""
        await subject.store.write(KEY, pieces(content_of(70_000)))
        bounds = {"start": start} if end is None else {"start": start, "end": end}

        assert await read(subject.store, **bounds) == content_of(70_000)[start:end]

    async def test_the_later_file_replaces_the_earlier_one(self, subject: StoreSubject) -> None:
        """A second try of the same download leaves one file."""
        await subject.store.write(KEY, pieces(b"first and longer"))
        await subject.store.write(KEY, pieces(b"second"))

        assert await read(subject.store) == b"second"
        assert len(subject.names()) == 1

    async def test_files_do_not_mix(self, subject: StoreSubject) -> None:
        """Each key has its own, also when they are written side by side."""
        keys = [f"a{number % 3}/{number}" for number in range(9)]
        await asyncio.gather(*(subject.store.write(key, pieces(key.encode())) for key in keys))

        assert [await read(subject.store, key) for key in keys] == [key.encode() for key in keys]

    async def test_a_missing_file_is_missing(self, subject: StoreSubject) -> None:
        """Trying again does not help."""
        with pytest.raises(MediaUnavailable) as caught:
            await read(subject.store)

        assert (caught.value.reason, caught.value.retry) == ("missing", False)

    async def test_a_deleted_file_is_gone(self, subject: StoreSubject) -> None:
        """Deleting again is no error."""
        await subject.store.write(KEY, pieces(b"x"))
        for _ in range(2):
            await subject.store.delete(KEY)

        with pytest.raises(MediaUnavailable, match="missing"):
            await read(subject.store)
        assert subject.names() == []

    @pytest.mark.parametrize("size", [0, 1, 12 * 2**20])
    @pytest.mark.parametrize(
        "error",
        [MediaUnavailable("cut_off"), MediaUnavailable("gone", retry=False), OSError("disk"), KeyError("x")],
    )
    async def test_what_breaks_off_is_not_kept(
        self, subject: StoreSubject, size: int, error: Exception
    ) -> None:
        """The error of the pieces comes out as it is, and nothing of the file stays."""

        async def broken() -> AsyncIterator[bytes]:
            async for piece in pieces(content_of(size)):
                yield piece
            raise error

        with pytest.raises(type(error)) as caught:
            await subject.store.write(KEY, broken())

        assert caught.value is error
        assert subject.names() == []

    async def test_a_file_stays_when_its_replacement_breaks_off(self, subject: StoreSubject) -> None:
        """Until the last piece is there, the earlier file is the file."""

        async def broken() -> AsyncIterator[bytes]:
            yield content_of(6 * 2**20)
            raise MediaUnavailable("cut_off")

        await subject.store.write(KEY, pieces(b"kept"))
        with pytest.raises(MediaUnavailable):
            await subject.store.write(KEY, broken())

        assert await read(subject.store) == b"kept"

    @pytest.mark.parametrize("size", [0, 100, 12 * 2**20])
    async def test_a_cancelled_write_keeps_nothing(self, subject: StoreSubject, size: int) -> None:
        """A server that stops in the middle of a download leaves no half file."""
        reached = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            async for piece in pieces(content_of(size)):
                yield piece
            reached.set()
            await asyncio.Event().wait()

        call = asyncio.ensure_future(subject.store.write(KEY, endless()))
        await reached.wait()
        call.cancel()
        await asyncio.wait([call])

        assert call.cancelled()
        assert subject.names() == []

    async def test_a_reader_may_stop_early(self, subject: StoreSubject) -> None:
        """And the next one reads it all."""
        await subject.store.write(KEY, pieces(content_of(3 * 2**20)))
        reading = subject.store.read(KEY)
        first = await anext(reading)

        assert content_of(3 * 2**20).startswith(first)
        assert await read(subject.store) == content_of(3 * 2**20)

    async def test_storage_that_is_away_may_come_back(self, subject: StoreSubject) -> None:
        """Every call says that trying again can help."""
        await subject.store.write(KEY, pieces(b"x"))
        await subject.leave()
        calls = [subject.store.write(KEY, pieces(b"y")), read(subject.store), subject.store.delete(KEY)]
        errors = await asyncio.gather(*calls, return_exceptions=True)

        assert [(type(error), getattr(error, "retry", None)) for error in errors] == [
            (MediaUnavailable, True)
        ] * 3

    async def test_it_can_be_closed_twice(self, subject: StoreSubject) -> None:
        """Closing is the last call and harmless when repeated."""
        await subject.store.close()
        await subject.store.close()
