"""Start or attach to the embedded server, and stop it with its last user."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote

from onevoice.errors import EmbeddedServerFailed
from onevoice.store.embedded import keeper
from onevoice.store.embedded.access import SystemUser, choose_system_user, let_pass, let_read, make_private
from onevoice.store.embedded.locks import FileLock, attempts, pause
from onevoice.store.embedded.programs import SERVER_VERSION, program_folder, reason_in, run_program

_PORT = 5432
_DATABASE = "onevoice"
# The kernel's limit for a socket's path is 104 bytes on macOS and 108 on Linux, its end included.
_SOCKET_BYTES_MAX = 100
# Commas and quotes in a socket's path have a meaning of their own for the server and its clients.
_PLAIN_PATH = re.compile(r"[\w/.+=@~-]+")
_START_SECONDS_MAX = 120.0
_LOG_BYTES_MAX = 10_000_000

# For a small machine. Durability is never traded: fsync and synchronous_commit stay on, their default.
_SETTINGS = {
    "listen_addresses": "",
    "port": str(_PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "jit": "off",
    "io_method": "sync",
    "max_parallel_workers_per_gather": "0",
    # Not /dev/shm: containers keep it tiny, and a log-out may empty it.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # The server's error messages quote values, customers' words among them; ours say what failed.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
}


class EmbeddedServer:
    """One user's handle on the server of a `data_dir`. The functions block: call them in a thread."""

    def __init__(self, *, dsn: str, folders: _Folders, users: FileLock, socket_folder: Path) -> None:
        self.dsn = dsn
        self._folders = folders
        self._socket_folder = socket_folder
        self._users = users
        self._stopping = threading.Lock()
        self._stopped = False

    @classmethod
    def start(cls, data_dir: Path) -> Self:
        """Start the server of this folder, or attach to the one that another process started."""
        folders = _Folders(_prepare_data_dir(data_dir))
        try:
            with FileLock(folders.start_lock) as starting:
                if not starting.wait_exclusive(seconds_max=_START_SECONDS_MAX):
                    raise EmbeddedServerFailed(
                        f"another process has been starting PostgreSQL in {data_dir} for long"
                    )
                return cls._start_alone(folders)
        except subprocess.TimeoutExpired:
            raise EmbeddedServerFailed(
                f"the embedded PostgreSQL in {data_dir} did not answer in time; see {folders.log}"
            ) from None
        except OSError as error:
            raise EmbeddedServerFailed(
                f"the embedded PostgreSQL cannot use {error.filename or data_dir}: {error.strerror}"
            ) from None

    def revive(self) -> bool:
        """Start the server again if none of its processes lives any more; true when it had to.

        It comes back at the same address: whoever is connected to it only has to connect again.
        """
        with FileLock(self._folders.server_lock) as server:
            if not server.try_exclusive():
                return False
        with self._stopping, FileLock(self._folders.start_lock) as starting:
            if self._stopped or not starting.wait_exclusive(seconds_max=_START_SECONDS_MAX):
                return False
            user = choose_system_user(self._folders.cluster)
            _ensure_running(self._folders, user, revived=self._socket_folder)
        return True

    def stop(self) -> None:
        """Let go of the server; the last one out stops it and returns when it has ended."""
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
            with FileLock(self._folders.start_lock) as starting:
                alone = starting.wait_exclusive(seconds_max=_START_SECONDS_MAX)
                try:
                    if alone and self._users.try_exclusive():
                        _stop_server(self._folders)
                    else:
                        # Others use it, or the keeper is stopping it: the lock comes when it has ended.
                        self._users.wait_shared(seconds_max=_START_SECONDS_MAX)
                finally:
                    self._users.close()

    @classmethod
    def _start_alone(cls, folders: _Folders) -> Self:
        users = FileLock(folders.users_lock)
        try:
            if not users.wait_shared(seconds_max=_START_SECONDS_MAX):
                raise EmbeddedServerFailed(f"PostgreSQL in {folders.data_dir} has been stopping for long")
            user = choose_system_user(folders.cluster)
            _check_cluster(folders.cluster)
            if not (folders.cluster / "PG_VERSION").exists():
                _create_cluster(folders, user)
            socket_folder = _ensure_running(folders, user)
            _create_database(socket_folder)
        except BaseException:
            users.close()
            raise
        host = quote(str(socket_folder), safe="/")
        dsn = f"postgresql://postgres@/{_DATABASE}?host={host}&port={_PORT}"
        return cls(dsn=dsn, folders=folders, users=users, socket_folder=socket_folder)


@contextmanager
def unused_cluster(data_dir: Path) -> Generator[None]:
    """Keep everybody from the cluster's folder for a while; refused while anybody uses it."""
    folders = _Folders(_prepare_data_dir(data_dir))
    with FileLock(folders.start_lock) as starting, FileLock(folders.users_lock) as users:
        # A moment for a keeper that is about to end.
        if not starting.wait_exclusive(seconds_max=3) or not users.wait_exclusive(seconds_max=3):
            raise EmbeddedServerFailed(f"onevoice is running on {data_dir}; stop it first")
        yield


class _Folders:
    """The places below a data_dir."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.cluster = data_dir / "postgres"
        # What a restore replaces, until it has replaced it.
        self.replaced = data_dir / "postgres.replaced"
        self.log = self.cluster / "server.log"
        self.start_lock = data_dir / "postgres.start.lock"
        # Held shared by every user of the server.
        self.users_lock = data_dir / "postgres.users.lock"
        # Inherited by the server's processes: free exactly when none of them lives, whatever a pid file says.
        self.server_lock = data_dir / "postgres.server.lock"


def _prepare_data_dir(data_dir: Path) -> Path:
    try:
        data_dir = data_dir.expanduser().absolute()
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(data_dir)
    except FileExistsError:
        raise EmbeddedServerFailed(f"data_dir {data_dir} is a file; choose a folder") from None
    except OSError as error:
        raise EmbeddedServerFailed(
            f"data_dir {data_dir} cannot be used: {error.strerror}; choose a folder that this user may write"
        ) from None
    return data_dir.resolve()


def _check_cluster(cluster: Path) -> None:
    if not cluster.exists() or not any(cluster.iterdir()):
        return
    version_file = cluster / "PG_VERSION"
    if not version_file.exists() or not (cluster / "global" / "pg_control").exists():
        raise EmbeddedServerFailed(
            f"{cluster} is not a complete PostgreSQL folder; move it away, or restore a backup over it"
        )
    version = version_file.read_text(encoding="ascii").strip()
    if version != str(SERVER_VERSION):
        raise EmbeddedServerFailed(
            f"{cluster} was made by PostgreSQL {version}, and this onevoice brings {SERVER_VERSION}; make a "
            "backup with the onevoice that made it, then restore it with this one"
        )


def _create_cluster(folders: _Folders, user: SystemUser | None) -> None:
    """Make it beside its place and rename it when it is complete: a half-made one is never taken for real."""
    if folders.replaced.exists():
        raise EmbeddedServerFailed(
            f"a restore into {folders.data_dir} was interrupted; run it again, or rename {folders.replaced} "
            f"to {folders.cluster.name} to have the old data back"
        )
    for left in folders.data_dir.glob("postgres.new-*"):
        shutil.rmtree(left, ignore_errors=True)
    # A name of its own each time: the initdb of a killed process may still be writing to the last one.
    unfinished = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=folders.data_dir))
    if user is not None:
        let_read(user, program_folder().parent)
        let_pass(user, folders.data_dir)
        os.chown(unfinished, user.uid, user.gid)
    done = run_program(
        "initdb",
        [
            *("--pgdata", str(unfinished), "--username", "postgres", "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin"),
            *("--builtin-locale", "C.UTF-8", "--no-instructions"),
        ],
        user=user,
    )
    if done.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise EmbeddedServerFailed(
            f"no database could be made in {folders.data_dir}: {reason_in(done.stderr)}"
        )
    if folders.cluster.exists():
        folders.cluster.rmdir()
    unfinished.rename(folders.cluster)
    _sync_folder(folders.data_dir)


def _ensure_running(folders: _Folders, user: SystemUser | None, *, revived: Path | None = None) -> Path:
    """The socket's folder of the running server; ``revived`` is the one of a server that ended unasked."""
    with FileLock(folders.server_lock) as server:
        for _ in attempts(_START_SECONDS_MAX):
            no_process_lives = server.try_exclusive()
            # Asked in any case: an administrator may have started it by hand, without our lock.
            ready = _socket_folder_when_ready(folders)
            if ready is not None:
                return ready
            if no_process_lives:
                return _start_server(folders, user, server, revived=revived)
            # It is still starting or stopping: somebody was killed meanwhile.
            pause()
    raise EmbeddedServerFailed(f"PostgreSQL in {folders.data_dir} neither starts nor ends; see {folders.log}")


def _start_server(
    folders: _Folders, user: SystemUser | None, lock: FileLock, *, revived: Path | None
) -> Path:
    # No process of an earlier server lives, so its pid files are stale, even if the number is in use again.
    (folders.cluster / "postmaster.pid").unlink(missing_ok=True)
    for stale in (f".s.PGSQL.{_PORT}.lock", f".s.PGSQL.{_PORT}"):
        ((revived or folders.cluster) / stale).unlink(missing_ok=True)
    if user is not None:
        let_read(user, program_folder().parent)
        let_pass(user, folders.data_dir)
    if folders.log.exists() and folders.log.stat().st_size > _LOG_BYTES_MAX:
        folders.log.replace(folders.log.with_suffix(".log.old"))
    log_bytes = folders.log.stat().st_size if folders.log.exists() else 0
    socket_folder = revived or _choose_socket_folder(folders.cluster, user)
    if revived is None:
        # The keeper of the first start lives as long as its users do, and is not started twice.
        _start_keeper(folders, user, socket_folder)
    settings = {**_SETTINGS, "unix_socket_directories": str(socket_folder)}
    options = shlex.join([part for name, value in settings.items() for part in ("-c", f"{name}={value}")])
    done = run_program(
        "pg_ctl",
        [
            *("start", "--pgdata", folders.cluster.name, "--options", options),
            *("--log", str(folders.log.relative_to(folders.data_dir))),
            *("--wait", "--timeout", str(int(_START_SECONDS_MAX)), "--silent"),
        ],
        user=user,
        # Relative paths: pg_ctl hands them to a shell in double quotes.
        folder=folders.data_dir,
        inherit=[lock.descriptor],
        seconds_max=_START_SECONDS_MAX + 10,
    )
    if done.returncode != 0:
        reason = reason_in(_read_from(folders.log, log_bytes) or done.stderr)
        raise EmbeddedServerFailed(
            f"the embedded PostgreSQL did not start: {reason}; its log is {folders.log}"
        )
    return socket_folder


def _start_keeper(folders: _Folders, user: SystemUser | None, socket_folder: Path) -> None:
    """Before the server, so that at no instant a killed process leaves a server that nobody would stop."""
    with FileLock(folders.users_lock) as users, FileLock(folders.server_lock) as server:
        command = [
            *(sys.executable, "-I", "-S", str(keeper.__file__)),
            *(str(users.descriptor), str(server.descriptor)),
            *(str(program_folder() / "pg_ctl"), str(folders.cluster), str(socket_folder)),
            *((str(user.uid), str(user.gid)) if user else ()),
        ]
        subprocess.run(  # noqa: S603 - Our own file, no shell.
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
            pass_fds=(users.descriptor, server.descriptor),
            check=True,
        )


def _stop_server(folders: _Folders) -> None:
    """End it in good order; the caller has made sure that nobody uses it."""
    socket_folder = _socket_folder(folders.cluster)
    with FileLock(folders.server_lock) as server:
        if not server.try_exclusive():
            done = run_program(
                "pg_ctl",
                [
                    *("stop", "--pgdata", str(folders.cluster), "--mode", "fast"),
                    *("--wait", "--timeout", "60", "--silent"),
                ],
                user=choose_system_user(folders.cluster),
            )
            # Its last process ends just after its pid file.
            if not server.wait_exclusive(seconds_max=10):
                raise EmbeddedServerFailed(
                    f"the embedded PostgreSQL does not stop: {reason_in(done.stderr)}; see {folders.log}"
                )
    if socket_folder is not None and socket_folder != folders.cluster:
        shutil.rmtree(socket_folder, ignore_errors=True)


def _socket_folder_when_ready(folders: _Folders) -> Path | None:
    socket_folder = _socket_folder(folders.cluster)
    if socket_folder is None:
        return None
    done = run_program(
        "pg_isready",
        ["-q", "-h", str(socket_folder), "-p", str(_PORT), "-U", "postgres", "-t", "3"],
        user=None,
    )
    return socket_folder if done.returncode == 0 else None


def _socket_folder(cluster: Path) -> Path | None:
    """What the running server's pid file says: its fifth line."""
    try:
        lines = (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return Path(lines[4]) if len(lines) > 5 and lines[4] else None


def _choose_socket_folder(cluster: Path, user: SystemUser | None) -> Path:
    """The cluster's own private folder, or a private one elsewhere when the path is too long or odd."""
    path = str(cluster)
    if len(os.fsencode(f"{path}/.s.PGSQL.{_PORT}")) <= _SOCKET_BYTES_MAX and _PLAIN_PATH.fullmatch(path):
        return cluster
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp makes a private folder in it.
        if len(os.fsencode(place)) < _SOCKET_BYTES_MAX // 2:
            folder = Path(tempfile.mkdtemp(prefix="onevoice-", dir=place))
            if user is not None:
                let_pass(user, folder.parent)
                os.chown(folder, user.uid, user.gid)
            return folder
    raise EmbeddedServerFailed(
        f"the path {path} is too long for PostgreSQL's socket; choose a shorter data_dir"
    )


def _create_database(socket_folder: Path) -> None:
    create = (
        f"select 'create database {_DATABASE}' "  # noqa: S608 - A fixed name.
        f"where not exists (select from pg_database where datname = '{_DATABASE}') \\gexec\n"
    )
    done = run_program(
        "psql",
        [
            *("--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--username", "postgres"),
            *("--host", str(socket_folder), "--port", str(_PORT), "--dbname", "postgres"),
        ],
        user=None,
        stdin=create,
    )
    if done.returncode != 0:
        raise EmbeddedServerFailed(f"the database {_DATABASE} could not be made: {reason_in(done.stderr)}")


def _read_from(path: Path, start: int) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(start)
        return stream.read().decode(errors="replace")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
