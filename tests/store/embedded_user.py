"""A process that uses an embedded server: `embedded_user.py DATA_DIR`, told what to do by lines on its input.

It answers each line: `ask` with what the server says, `stop` with `stopped`; SIGINT does not end it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from onevoice.errors import EmbeddedServerFailed
from onevoice.store.embedded import EmbeddedServer
from onevoice.store.embedded.programs import program_folder


def main(data_dir: str) -> None:
    signal.signal(signal.SIGINT, _note)
    try:
        server = EmbeddedServer.start(Path(data_dir))
    except EmbeddedServerFailed as error:
        _say(f"failed {error}")
        return
    _say(f"ready {server.dsn}")
    for line in sys.stdin:
        if line == "ask\n":
            command = [str(program_folder() / "psql"), "-XAtc", "select 'alive'", server.dsn]
            _say(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
        else:
            server.stop()
            _say("stopped")


def _note(_signal: int, _frame: object) -> None:
    sys.stderr.write("interrupted\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
