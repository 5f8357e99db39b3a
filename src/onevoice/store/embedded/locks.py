"""File locks between processes and threads: the kernel frees them when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import Self

_PAUSE_SECONDS = 0.02


class FileLock:
    """One open lock file. Two of them exclude each other even inside one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        owner = path.parent.stat()
        if os.geteuid() == 0:
            # Root must not lock out the folder's owner, who may come next.
            os.fchown(self._descriptor, owner.st_uid, owner.st_gid)

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def try_exclusive(self) -> bool:
        """Take it alone, if nobody else holds it."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def try_shared(self) -> bool:
        """Take it together with others, unless somebody holds it alone."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_exclusive(self, *, seconds_max: float) -> bool:
        return any(self.try_exclusive() or pause() for _ in range(int(seconds_max / _PAUSE_SECONDS)))

    def wait_shared(self, *, seconds_max: float) -> bool:
        return any(self.try_shared() or pause() for _ in range(int(seconds_max / _PAUSE_SECONDS)))

    def close(self) -> None:
        """Let go of this file. A process that inherited it keeps the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pause() -> bool:
    """Wait a moment before looking again; false, so that it can stand in a condition."""
    return threading.Event().wait(_PAUSE_SECONDS)


def attempts(seconds_max: float) -> range:
    """How often to look, with a pause each time, until so much time has passed."""
    return range(int(seconds_max / _PAUSE_SECONDS))
