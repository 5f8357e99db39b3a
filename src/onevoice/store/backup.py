"""Back up the embedded server's data to one file, and restore it.

The file is a tar archive: `database.dump` (pg_dump's own format, one snapshot, taken while everything runs),
the files below `media/`, and last `manifest.json` with the checksum of each: without it, it is not whole.
A restore builds the new database beside the old one and exchanges them only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypedDict

import msgspec

from onevoice.errors import BackupFailed
from onevoice.store.embedded import EmbeddedServer
from onevoice.store.embedded.programs import SERVER_VERSION, reason_in, run_program
from onevoice.store.embedded.server import unused_cluster
from onevoice.store.migrate import ROLES

_DUMP = "database.dump"
_MEDIA = "media"
_MANIFEST = "manifest.json"
_FORMAT = 1
_SECONDS_MAX = 24 * 3600.0
_CHUNK_BYTES = 1 << 20

# Roles belong to the server, not to the database, so a dump does not hold them.
_ROLES_SQL = (
    "\n".join(f"create role {role} nologin;" for role in ROLES) + f"\ngrant {', '.join(ROLES)} to postgres;\n"
)
# Transaction numbers mean nothing on another server, where they would lie in the future and hide the rows.
_OLD_TRANSACTIONS_SQL = """
do $$
declare
    place record;
begin
    for place in
        select c.oid::regclass as relation, a.attname as name from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
          and a.atttypid = 'xid8'::regtype and not a.attisdropped
    loop
        execute format('update %s set %I = ''3''::xid8', place.relation, place.name);
    end loop;
end $$;
"""


class _Manifest(TypedDict):
    format: int
    postgres: int
    sha256: dict[str, str]


def backup(data_dir: Path, target: Path) -> None:
    """Write all data in `data_dir` to the file `target`, which only this user can read; it may run."""
    if not (data_dir / "postgres" / "PG_VERSION").exists():
        raise BackupFailed(f"there is no database in {data_dir}; nothing was backed up")
    if target.exists():
        raise BackupFailed(f"{target} exists already; choose another name for the backup")
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name}.") as folder:
            dump = Path(folder) / _DUMP
            _dump_database(data_dir, dump)
            archive = Path(folder) / "archive"
            _write_archive(archive, dump=dump, media=data_dir / _MEDIA)
            archive.rename(target)
    except OSError as error:
        raise BackupFailed(f"the backup {target} cannot be written: {error.strerror}") from None


def restore(source: Path, data_dir: Path, *, force: bool = False) -> None:
    """Put a backup into `data_dir`. With `force`, it replaces the database and the media that are there."""
    data_dir = data_dir.expanduser().absolute()
    if not force and data_dir.exists() and any(data_dir.iterdir()):
        raise BackupFailed(f"{data_dir} is not empty; to replace what is in it, restore with force")
    try:
        with (
            unused_cluster(data_dir),
            tempfile.TemporaryDirectory(dir=data_dir, prefix=".restore-") as folder,
        ):
            staging = Path(folder)
            _read_archive(source, staging)
            _restore_database(staging)
            _exchange(staging, data_dir)
    except OSError as error:
        raise BackupFailed(f"{source} cannot be restored: {error.strerror or error}") from None


def _dump_database(data_dir: Path, dump: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    try:
        done = run_program(
            "pg_dump",
            ["--format", "custom", "--file", str(dump), "--dbname", server.dsn],
            user=None,
            seconds_max=_SECONDS_MAX,
        )
    finally:
        server.stop()
    if done.returncode != 0:
        raise BackupFailed(f"the database in {data_dir} cannot be backed up: {reason_in(done.stderr)}")


def _write_archive(archive: Path, *, dump: Path, media: Path) -> None:
    checksums: dict[str, str] = {}
    descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
            # The database first: a media file is stored before the row that names it.
            checksums[_DUMP] = _add(tar, dump, _DUMP)
            for path in sorted(media.rglob("*")) if media.is_dir() else []:
                # A "#" marks a file that is still being written; its row, too, comes after this dump.
                if path.is_file() and not path.is_symlink() and "#" not in path.name:
                    name = f"{_MEDIA}/{path.relative_to(media).as_posix()}"
                    with suppress(FileNotFoundError):  # Deleted since the folder was listed.
                        checksums[name] = _add(tar, path, name)
            manifest: _Manifest = {"format": _FORMAT, "postgres": SERVER_VERSION, "sha256": checksums}
            path = dump.with_name(_MANIFEST)
            path.write_bytes(msgspec.json.encode(manifest))
            _add(tar, path, _MANIFEST)
        stream.flush()
        os.fsync(stream.fileno())


def _add(tar: tarfile.TarFile, path: Path, name: str) -> str:
    with path.open("rb") as content:
        member = tarfile.TarInfo(name)
        status = os.fstat(content.fileno())
        member.size, member.mtime, member.mode = status.st_size, int(status.st_mtime), 0o600
        reader = _HashingReader(content)
        tar.addfile(member, reader)
        return reader.digest.hexdigest()


class _HashingReader:
    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._content.read(size)
        self.digest.update(data)
        return data


def _read_archive(source: Path, staging: Path) -> None:
    """Unpack it and check every byte before anything else is touched."""
    checksums: dict[str, str] = {}
    manifest: _Manifest | None = None
    with _unreadable_is_refused(source), tarfile.open(source, mode="r:") as tar:
        for member in tar:
            path = _place(member, staging)
            content = tar.extractfile(member)
            if path is None or content is None:
                raise BackupFailed(f"{source} holds {member.name}, which no backup does; nothing was changed")
            checksums[member.name] = _unpack(content, path)
            if member.name == _MANIFEST:
                manifest = msgspec.json.decode(path.read_bytes(), type=_Manifest)
    if manifest is None or manifest["format"] != _FORMAT:
        raise BackupFailed(f"{source} is not a whole backup of this kind; nothing was changed")
    checksums.pop(_MANIFEST)
    if checksums != manifest["sha256"]:
        raise BackupFailed(f"{source} is damaged: its checksums do not match; nothing was changed")


def _place(member: tarfile.TarInfo, staging: Path) -> Path | None:
    parts = member.name.split("/")
    known = member.name in {_DUMP, _MANIFEST} or (len(parts) > 1 and parts[0] == _MEDIA)
    if not known or not member.isfile() or any(part in {"", ".", ".."} for part in parts):
        return None
    return staging.joinpath(*parts)


def _unpack(content: IO[bytes], path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        while data := content.read(_CHUNK_BYTES):
            digest.update(data)
            stream.write(data)
    return digest.hexdigest()


def _restore_database(staging: Path) -> None:
    server = EmbeddedServer.start(staging)
    try:
        _run_sql(server.dsn, _ROLES_SQL)
        done = run_program(
            "pg_restore",
            [
                *("--dbname", server.dsn, "--exit-on-error", "--single-transaction"),
                str(staging / _DUMP),
            ],
            user=None,
            seconds_max=_SECONDS_MAX,
        )
        if done.returncode != 0:
            raise BackupFailed(
                f"the database cannot be restored: {reason_in(done.stderr)}; nothing was changed"
            )
        _run_sql(server.dsn, _OLD_TRANSACTIONS_SQL + "analyze;\n")
    finally:
        server.stop()


def _run_sql(dsn: str, sql: str) -> None:
    arguments = ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", dsn]
    done = run_program("psql", arguments, user=None, stdin=sql, seconds_max=_SECONDS_MAX)
    if done.returncode != 0:
        raise BackupFailed(f"the database cannot be restored: {reason_in(done.stderr)}; nothing was changed")


def _exchange(staging: Path, data_dir: Path) -> None:
    """Swap the folders; an interruption leaves the old ones under `*.replaced`."""
    names = (_MEDIA, "postgres")
    for name in names:
        shutil.rmtree(data_dir / f"{name}.replaced", ignore_errors=True)
        if (data_dir / name).exists():
            (data_dir / name).rename(data_dir / f"{name}.replaced")
        if (staging / name).exists():
            (staging / name).rename(data_dir / name)
    for name in names:
        shutil.rmtree(data_dir / f"{name}.replaced", ignore_errors=True)


@contextmanager
def _unreadable_is_refused(source: Path) -> Generator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, msgspec.DecodeError, msgspec.ValidationError):
        raise BackupFailed(
            f"{source} is not a backup of onevoice, or is cut off; nothing was changed"
        ) from None
