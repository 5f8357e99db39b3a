"""Started by root, PostgreSQL runs under a user of its own, and nobody else gains anything by it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from onevoice.store.embedded import EmbeddedServer
from tests.store.embedded_process import AS_ROOT, NOBODY, User

pytestmark = pytest.mark.timeout(120)


@pytest.mark.skipif(not AS_ROOT, reason="root alone starts the server under another user")
class TestAsRoot:
    """PostgreSQL runs under a user of its own, and nobody else gains anything by it."""

    def test_nothing_becomes_readable(self, tmp_path: Path) -> None:
        """A readable file in a private parent stays out of reach, and so do the data and the socket."""
        private = tmp_path / "private"
        private.mkdir(mode=0o700)
        (private / "onevoice.toml").write_text("secret")
        (private / "onevoice.toml").chmod(0o644)
        server = EmbeddedServer.start(private / "data")
        try:
            cluster = private / "data" / "postgres"
            assert cluster.stat().st_uid != 0
            for place in (private, private / "data", cluster):
                assert stat.S_IMODE(place.stat().st_mode) & 0o007 == 0
            assert _run_as(NOBODY, "cat", private / "onevoice.toml").returncode != 0
            assert _run_as(NOBODY, "ls", cluster).returncode != 0
            assert _run_as(NOBODY, "test", "-S", cluster / ".s.PGSQL.5432").returncode != 0
            assert _run_as(cluster.stat().st_uid, "ls", private).returncode != 0
            assert _run_as(cluster.stat().st_uid, "ls", private / "data").returncode != 0
        finally:
            server.stop()
        EmbeddedServer.start(private / "data").stop()

    def test_a_normal_users_folder_stays_that_users(self, tmp_path: Path) -> None:
        """Started by root in somebody's folder, the server runs as that user, who can start it later."""
        interpreter = _interpreter_for_all()
        data_dir = tmp_path / "data"
        data_dir.mkdir()
        os.chown(data_dir, NOBODY, NOBODY)
        for parent in [tmp_path, *tmp_path.parents][:3]:
            parent.chmod(parent.stat().st_mode | 0o001)
        EmbeddedServer.start(data_dir).stop()
        assert (data_dir / "postgres").stat().st_uid == NOBODY
        user = User(data_dir, uid=NOBODY, interpreter=interpreter)
        try:
            assert user.wait_ready().startswith("ready ")
            assert user.tell("ask") == "alive"
            assert user.tell("stop") == "stopped"
        finally:
            user.close()

    def test_a_folder_of_root_is_refused_to_a_normal_user(self, tmp_path: Path) -> None:
        """Somebody else's folder gives a sentence."""
        for parent in [tmp_path, *tmp_path.parents][:3]:
            parent.chmod(parent.stat().st_mode | 0o001)
        user = User(tmp_path / "data", uid=NOBODY, interpreter=_interpreter_for_all())
        try:
            assert user.wait_ready().startswith("failed ")
        finally:
            user.close()


def _interpreter_for_all() -> str:
    """A Python of this version that other users may run, too."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            if _run_as(NOBODY, program, "-c", "").returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("no Python here that a normal user may run")


def _run_as(uid: int, *command: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(part) for part in command],
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        check=False,
    )
