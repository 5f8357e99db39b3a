"""Every media store keeps the contract: in memory, in a folder, and in an S3-compatible bucket."""

from __future__ import annotations

import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from onevoice.adapters.media.store import open_bucket, open_folder
from onevoice.log_format import KeyValueFormatter
from onevoice.testing import MemoryMediaStore
from tests.contracts.bucket import BUCKET, KEY_ID, LoopbackBucket
from tests.contracts.media_store_contract import KEY, MediaStoreContract, StoreSubject, pieces, read


class MemorySubject(StoreSubject):
    def __init__(self) -> None:
        self.store = self._memory = MemoryMediaStore()

    async def leave(self) -> None:
        self._memory.is_away = True

    def names(self) -> list[str]:
        return list(self._memory.files)


class TestMemory(MediaStoreContract):
    @pytest.fixture
    def subject(self) -> StoreSubject:
        return MemorySubject()


class FolderSubject(StoreSubject):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.store = open_folder(folder)

    async def leave(self) -> None:
        # A mount that is gone: a file stands where the folder was.
        shutil.rmtree(self._folder)
        self._folder.touch()

    def names(self) -> list[str]:
        return [str(path) for path in self._folder.rglob("*") if path.is_file()]


class TestFolder(MediaStoreContract):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> StoreSubject:
        return FolderSubject(tmp_path / "media")


class BucketSubject(StoreSubject):
    def __init__(self, bucket: LoopbackBucket, key_id: str = KEY_ID) -> None:
        self._bucket = bucket
        self.store = open_bucket(
            f"s3://{BUCKET}/onevoice",
            endpoint_url=bucket.url,
            region="sa-east-1",
            access_key_id=key_id,
            secret_access_key="secret-example",
        )

    async def leave(self) -> None:
        self._bucket.is_broken = True

    def names(self) -> list[str]:
        return [*self._bucket.objects, *self._bucket.uploads]


class TestBucket(MediaStoreContract):
    @pytest.fixture
    async def subject(self) -> AsyncIterator[StoreSubject]:
        async with LoopbackBucket() as bucket:
            yield BucketSubject(bucket)


async def test_keys_lie_below_the_prefix() -> None:
    """One bucket serves several programs."""
    async with LoopbackBucket() as bucket:
        await BucketSubject(bucket).store.write(KEY, pieces(b"x"))

        assert list(bucket.objects) == [f"onevoice/{KEY}"]


async def test_wrong_keys_of_a_bucket_are_no_missing_file(caplog: pytest.LogCaptureFixture) -> None:
    """A file that is there must not count as lost because a key was rotated; the log has the kind of error."""
    async with LoopbackBucket() as bucket:
        await BucketSubject(bucket).store.write(KEY, pieces(b"x"))
        with pytest.raises(Exception, match="store_unavailable"):
            await read(BucketSubject(bucket, key_id="AKIAOTHER").store)

    [line] = [KeyValueFormatter().format(record) for record in caplog.records]
    assert 'event="the store of files does not answer"' in line
    assert "Error" in line
    assert "AKIAOTHER" not in line


def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    """Customers' files are nobody else's."""
    open_folder(tmp_path / "data" / "media")

    assert stat.S_IMODE((tmp_path / "data" / "media").stat().st_mode) == 0o700
