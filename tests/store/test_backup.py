"""A backup holds everything, is private, and a restore destroys nothing before it is complete."""

from __future__ import annotations

import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from onevoice.errors import BackupFailed, EmbeddedServerFailed
from onevoice.store.backup import backup, restore
from onevoice.store.embedded import EmbeddedServer
from onevoice.store.migrate import migrate
from tests.postgres import run

pytestmark = pytest.mark.timeout(120)

_FILL = """
insert into channel (account_id, name, kind) values ('acme', 'shop', 'webchat');
-- As after weeks of work, when transactions have large numbers.
insert into journal (account_id, xid, at, kind, data)
select 'acme', '5000000000', now(), 'made_' || n, jsonb_build_object('n', n) from generate_series(1, 3) as n;
"""


def _execute(dsn: str, sql: str) -> None:
    async def act() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    run(act())


def _read(dsn: str, sql: str, **settings: str) -> list[tuple[object, ...]]:
    async def act() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(dsn, server_settings=settings)
        try:
            return [tuple(row.values()) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    return run(act())


def _fill(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    try:
        run(migrate(server.dsn))
        _execute(server.dsn, _FILL)
    finally:
        server.stop()
    media = data_dir / "media" / "2026" / "voice ü.ogg"
    media.parent.mkdir(parents=True)
    media.write_bytes(b"sound")
    # As the store names a file that is still on its way.
    media.with_name("half.ogg#1").write_bytes(b"so")


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[Path, Path]]:
    """A data_dir and its backup, taken while the server runs."""
    with tempfile.TemporaryDirectory(prefix="onevoice-test-") as folder:
        yield _back_up_in(Path(folder))


def _back_up_in(folder: Path) -> tuple[Path, Path]:
    data_dir, target = folder / "data", folder / "backup.tar"
    _fill(data_dir)
    server = EmbeddedServer.start(data_dir)
    try:
        backup(data_dir, target)
        assert _read(server.dsn, "select 1") == [(1,)]
    finally:
        server.stop()
    return data_dir, target


def test_a_round_trip_brings_back_rows_roles_and_media(filled: tuple[Path, Path], tmp_path: Path) -> None:
    """A restored folder works with the same roles, policies, migrations and files."""
    restore(filled[1], tmp_path / "data")
    server = EmbeddedServer.start(tmp_path / "data")
    try:
        assert run(migrate(server.dsn)) == []
        assert _read(server.dsn, "select name from channel") == [("shop",)]
        assert _read(server.dsn, "select kind from journal order by id") == [
            ("made_1",),
            ("made_2",),
            ("made_3",),
        ]
        count = "select count(*) from channel"
        api = {"role": "onevoice_api"}
        assert _read(server.dsn, count, **api, **{"onevoice.account_id": "acme"}) == [(1,)]
        assert _read(server.dsn, count, **api, **{"onevoice.account_id": "other"}) == [(0,)]
        feed = "select count(*) from journal where xid < pg_snapshot_xmin(pg_current_snapshot())"
        assert _read(server.dsn, feed) == [(3,)], "rows of an older server must not lie in the future"
    finally:
        server.stop()
    [file] = (tmp_path / "data" / "media" / "2026").iterdir()
    assert (file.name, file.read_bytes()) == ("voice ü.ogg", b"sound")
    assert sorted(path.name for path in (tmp_path / "data").iterdir() if "lock" not in path.name) == [
        "media",
        "postgres",
    ]


def test_the_file_is_private_and_is_never_overwritten(filled: tuple[Path, Path]) -> None:
    """A backup holds customers' words: only its owner reads it, and no second backup replaces it."""
    data_dir, target = filled
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(BackupFailed, match="exists already"):
        backup(data_dir, target)
    assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []


def test_a_folder_with_data_is_replaced_only_by_force(filled: tuple[Path, Path], tmp_path: Path) -> None:
    """Without force a restore refuses a folder with anything in it; with force it replaces data and media."""
    data_dir = tmp_path / "data"
    _fill(data_dir)
    (data_dir / "media" / "later.ogg").write_bytes(b"later")
    (data_dir / "secret.key").write_bytes(b"key")
    with pytest.raises(BackupFailed, match="not empty"):
        restore(filled[1], data_dir)
    restore(filled[1], data_dir, force=True)
    assert not (data_dir / "media" / "later.ogg").exists()
    assert (data_dir / "secret.key").read_bytes() == b"key"
    assert not list(data_dir.glob("*.replaced"))
    assert not list(data_dir.glob(".restore-*"))


def test_a_running_server_is_not_replaced(filled: tuple[Path, Path]) -> None:
    """A restore refuses a folder that a running onevoice uses."""
    server = EmbeddedServer.start(filled[0])
    try:
        with pytest.raises(EmbeddedServerFailed, match="is running"):
            restore(filled[1], filled[0], force=True)
        assert _read(server.dsn, "select name from channel") == [("shop",)]
    finally:
        server.stop()


def _cut_in_half(good: Path, bad: Path) -> None:
    data = good.read_bytes()
    bad.write_bytes(data[: len(data) // 2])


def _cut_the_manifest(good: Path, bad: Path) -> None:
    with tarfile.open(good) as source, tarfile.open(bad, "w") as copy:
        for member in source:
            if member.name != "manifest.json":
                copy.addfile(member, source.extractfile(member))


def _flip_a_byte(good: Path, bad: Path) -> None:
    data = good.read_bytes()
    assert data.count(b"sound") == 1
    bad.write_bytes(data.replace(b"sound", b"sounD"))


def _climb_out(good: Path, bad: Path) -> None:
    with tarfile.open(good) as source, tarfile.open(bad, "w") as copy:
        for member in source:
            content = source.extractfile(member)
            if member.name.startswith("media/"):
                member.name = "media/../../escaped"
                member.pax_headers = {}
            copy.addfile(member, content)


def _something_else(good: Path, bad: Path) -> None:
    bad.write_bytes(b"not an archive" + good.read_bytes()[:100])


@pytest.mark.parametrize(
    "spoil",
    [_cut_in_half, _cut_the_manifest, _flip_a_byte, _climb_out, _something_else],
    ids=lambda f: f.__name__,
)
def test_a_bad_archive_changes_nothing(
    spoil: Callable[[Path, Path], None], filled: tuple[Path, Path], tmp_path: Path
) -> None:
    """An archive that is cut off, damaged, foreign or hostile is refused before anything is destroyed."""
    data_dir, bad = tmp_path / "data", tmp_path / "bad.tar"
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "kept").write_bytes(b"kept")
    spoil(filled[1], bad)
    with pytest.raises(BackupFailed, match="nothing was changed"):
        restore(bad, data_dir, force=True)
    assert (data_dir / "postgres" / "kept").read_bytes() == b"kept"
    assert not (tmp_path / "escaped").exists()
    assert not list(data_dir.glob(".restore-*"))


def test_nothing_to_back_up_is_said(tmp_path: Path) -> None:
    """A folder without a database gives a sentence, not an empty backup."""
    with pytest.raises(BackupFailed, match="no database"):
        backup(tmp_path, tmp_path / "backup.tar")
    assert not (tmp_path / "backup.tar").exists()


def test_an_interrupted_exchange_never_starts_an_empty_database(filled: tuple[Path, Path]) -> None:
    """Killed between the two renames, a restore leaves the old data, and a start says so."""
    data_dir = filled[0]
    (data_dir / "postgres").rename(data_dir / "postgres.replaced")
    try:
        with pytest.raises(EmbeddedServerFailed, match="interrupted"):
            EmbeddedServer.start(data_dir)
    finally:
        (data_dir / "postgres.replaced").rename(data_dir / "postgres")
