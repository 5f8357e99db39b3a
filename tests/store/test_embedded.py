"""The embedded server starts with its first user and ends with its last, however they end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest

from onevoice.errors import EmbeddedServerFailed
from onevoice.store.embedded import EmbeddedServer
from onevoice.store.embedded.locks import FileLock
from tests.postgres import run
from tests.store.embedded_process import ENDS_SECONDS_MAX, User, ask, ends, lives

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def use(tmp_path: Path) -> Iterator[Callable[[], User]]:
    """Starts processes on one data_dir."""
    users: list[User] = []

    def start() -> User:
        users.append(User(tmp_path / "data"))
        return users[-1]

    yield start
    for user in users:
        user.close()
    if (tmp_path / "data").exists():
        assert ends(tmp_path / "data")


def _postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def test_a_second_process_attaches_and_the_last_out_stops_it(use: Callable[[], User], tmp_path: Path) -> None:
    """One server serves both processes, survives the first to leave, and has ended when the last has left."""
    first, second = use(), use()
    assert first.wait_ready().startswith("ready ")
    assert second.wait_ready().startswith("ready ")
    pid = _postmaster(tmp_path / "data")
    assert first.tell("stop") == "stopped"
    assert second.tell("ask") == "alive"
    assert _postmaster(tmp_path / "data") == pid
    assert second.tell("stop") == "stopped"
    assert not lives(tmp_path / "data")
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists()


def test_a_killed_process_neither_keeps_nor_stops_it(use: Callable[[], User], tmp_path: Path) -> None:
    """A SIGKILL of one user leaves the other its server; after a SIGKILL of the last it ends by itself."""
    first, second = use(), use()
    first.wait_ready()
    second.wait_ready()
    first.kill()
    assert second.tell("ask") == "alive"
    second.kill()
    assert ends(tmp_path / "data")
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists(), "it was stopped in good order"


def test_the_last_out_stops_it_though_others_were_killed(use: Callable[[], User], tmp_path: Path) -> None:
    """Killed users do not count as users."""
    first, second = use(), use()
    first.wait_ready()
    second.wait_ready()
    first.kill()
    assert second.tell("stop") == "stopped"
    assert not lives(tmp_path / "data")


def test_ctrl_c_does_not_reach_it(use: Callable[[], User]) -> None:
    """The server answers after SIGINT hit the whole process group, so that work can be drained."""
    user = use()
    user.wait_ready()
    user.interrupt()
    assert user.tell("ask") == "alive"


def test_many_start_at_once(use: Callable[[], User], tmp_path: Path) -> None:
    """Six processes and six threads that start together on an empty folder share one server."""
    processes = [use() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        handles = list(pool.map(EmbeddedServer.start, [tmp_path / "data"] * 6))
    try:
        assert {process.wait_ready().removeprefix("ready ") for process in processes} == {handles[0].dsn}
        assert {handle.dsn for handle in handles} == {handles[0].dsn}
        assert processes[0].tell("ask") == "alive"
    finally:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(EmbeddedServer.stop, handles))
    assert processes[0].tell("ask") == "alive"


def test_stopping_twice_takes_no_one_elses_server(tmp_path: Path) -> None:
    """A handle counts once: its second stop does nothing."""
    first, second = EmbeddedServer.start(tmp_path), EmbeddedServer.start(tmp_path)
    first.stop()
    first.stop()
    assert ask(second.dsn) == "alive"
    second.stop()
    assert not lives(tmp_path)


def test_a_stale_pid_file_with_a_living_number_is_not_believed(tmp_path: Path) -> None:
    """After a crash the old server's number may belong to another process: it is neither trusted nor hit."""
    EmbeddedServer.start(tmp_path).stop()
    cluster = tmp_path / "postgres"
    innocent = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user=cluster.stat().st_uid)
    lines = [innocent.pid, cluster, 1, 5432, cluster, "", "1 1", "ready"]
    (cluster / "postmaster.pid").write_text("".join(f"{line}\n" for line in lines))
    try:
        server = EmbeddedServer.start(tmp_path)
        assert ask(server.dsn) == "alive"
        server.stop()
        assert innocent.poll() is None
    finally:
        assert innocent.stdin is not None
        innocent.stdin.close()
        innocent.wait()


def test_a_killed_server_is_started_again(tmp_path: Path) -> None:
    """When the server itself was killed, the next start recovers its data."""
    old = EmbeddedServer.start(tmp_path)
    os.kill(_postmaster(tmp_path), signal.SIGKILL)
    new = EmbeddedServer.start(tmp_path)
    assert ask(new.dsn) == "alive"
    old.stop()
    assert ask(new.dsn) == "alive"
    new.stop()


def test_an_interrupted_creation_is_done_again(use: Callable[[], User], tmp_path: Path) -> None:
    """A process killed while it makes the cluster leaves nothing that is taken for a database."""
    data_dir = tmp_path / "data"
    victim = use()
    # As soon as its folder exists, initdb is at work or about to be.
    while not any(data_dir.glob("postgres.new-*/PG_VERSION")):
        assert not (data_dir / "postgres").exists(), "initdb was too quick to be caught"
    victim.kill()
    assert not (data_dir / "postgres").exists()
    survivor = use()
    assert survivor.wait_ready().startswith("ready ")
    assert survivor.tell("ask") == "alive"


@pytest.mark.parametrize("name", ["x" * 120, "a, b", 'it\'s a "ü" %41 & $HOME'])
def test_any_path_works(name: str, tmp_path: Path) -> None:
    """Long paths, commas, quotes and spaces change nothing; a socket folder elsewhere is private and goes."""
    server = EmbeddedServer.start(tmp_path / name)
    lines = (tmp_path / name / "postgres" / "postmaster.pid").read_text().splitlines()
    socket_folder = Path(lines[4])
    try:
        assert ask(server.dsn) == "alive"
        assert stat.S_IMODE(socket_folder.stat().st_mode) & 0o007 == 0
    finally:
        server.stop()
    assert socket_folder.exists() == (socket_folder.parent == tmp_path / name)


def test_a_socket_folder_elsewhere_goes_after_a_kill_too(tmp_path: Path) -> None:
    """The keeper clears away the short socket folder of a server whose users were killed."""
    data_dir = tmp_path / ("x" * 120)
    user = User(data_dir)
    user.wait_ready()
    socket_folder = Path((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[4])
    with FileLock(data_dir / "postgres.users.lock") as users:
        user.close()
        assert ends(data_dir)
        assert users.wait_exclusive(seconds_max=ENDS_SECONDS_MAX), "the keeper has ended"
    assert not socket_folder.exists()


def _file(data_dir: Path) -> None:
    data_dir.write_text("not a folder")


def _incomplete(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "base").mkdir()


def _older(data_dir: Path) -> None:
    (data_dir / "postgres" / "global").mkdir(parents=True)
    (data_dir / "postgres" / "global" / "pg_control").touch()
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_file, "is a file"),
        (_incomplete, "not a complete PostgreSQL folder"),
        (_older, "made by PostgreSQL 16"),
    ],
    ids=["file", "incomplete", "older"],
)
def test_a_folder_that_cannot_be_used_is_said_in_a_sentence(
    spoil: Callable[[Path], None], sentence: str, tmp_path: Path
) -> None:
    """What is wrong with a data_dir is told with its path and what to do."""
    data_dir = tmp_path / "data"
    spoil(data_dir)
    with pytest.raises(EmbeddedServerFailed, match=sentence) as caught:
        EmbeddedServer.start(data_dir)
    assert str(data_dir) in str(caught.value)


def test_a_folder_that_cannot_be_written_is_said() -> None:
    """An unwritable place gives a sentence, not a traceback."""
    with pytest.raises(EmbeddedServerFailed, match="cannot be used"):
        EmbeddedServer.start(Path("/proc/onevoice"))


def test_what_postgresql_says_reaches_the_reader(tmp_path: Path) -> None:
    """A server that does not start gives its own reason and the place of its log."""
    EmbeddedServer.start(tmp_path).stop()
    with (tmp_path / "postgres" / "postgresql.conf").open("a") as configuration:
        configuration.write("\nno_such_setting = 1\n")
    with pytest.raises(
        EmbeddedServerFailed, match=r"did not start: configuration file .*; its log is .*server\.log"
    ):
        EmbeddedServer.start(tmp_path)
    assert not lives(tmp_path)


def test_the_log_holds_no_values(tmp_path: Path) -> None:
    """What a failing statement quotes of its data is not written to the server's log."""
    server = EmbeddedServer.start(tmp_path)
    try:
        with pytest.raises(asyncpg.PostgresError):
            run(_fail_with_a_secret(server.dsn))
    finally:
        server.stop()
    assert "planted" not in (tmp_path / "postgres" / "server.log").read_text()


async def _fail_with_a_secret(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "create temp table t (a text unique); insert into t values ('planted-secret')"
        )
        await connection.execute("insert into t values ('planted-secret')")
    finally:
        await connection.close()
