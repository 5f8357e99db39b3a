"""Stops the server when nobody uses it any more, even when its last user was killed.

A small process of its own, run as a file with the standard library only. The kernel wakes it when the last
shared lock on the users' file is gone; while it holds the lock alone, nobody can start to use the server.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys


def main(arguments: list[str]) -> int:
    """Arguments: descriptors of users' and server's lock, pg_ctl, PGDATA, socket folder, [uid, gid]."""
    users, server, pg_ctl, cluster, socket_folder, *user = arguments
    if os.fork():
        return 0
    fcntl.flock(int(users), fcntl.LOCK_EX)
    try:
        fcntl.flock(int(server), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        status = _stop(pg_ctl, cluster, user)
    else:
        # No process of the server lives; the number in a pid file that remains may be somebody else's by now.
        status = 0
    if socket_folder != cluster:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(socket_folder)
    return status


def _stop(pg_ctl: str, cluster: str, user: list[str]) -> int:
    # Only pg_ctl becomes the server's user: the socket's folder may lie where that user can remove nothing.
    return subprocess.run(  # noqa: S603 - No shell.
        [pg_ctl, "stop", "-D", cluster, "-m", "fast", "-w", "-t", "60", "-s"],
        stdin=subprocess.DEVNULL,
        user=int(user[0]) if user else None,
        group=int(user[1]) if user else None,
        extra_groups=[] if user else None,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
