"""The suite's own tripwires, tried by suites that break each rule on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.project import ROOT

_CASES = {
    "task_left": (
        "import asyncio\n"
        "async def test_it():\n"
        "    asyncio.create_task(asyncio.Event().wait(), name='forgotten')\n"
        "    await asyncio.sleep(0)\n",
        "the test left tasks running: forgotten",
    ),
    "sleep": (
        "import time\nasync def test_it():\n    time.sleep(0)\n",
        "time.sleep blocks the event loop",
    ),
    "swallowed_sleep": (
        "import contextlib, time\n"
        "async def test_it():\n    with contextlib.suppress(RuntimeError):\n        time.sleep(0)\n",
        "time.sleep blocks the event loop",
    ),
    "world": (
        "import socket\n"
        "def test_it():\n"
        "    with socket.socket() as s:\n        s.settimeout(0.01)\n        s.connect(('192.0.2.1', 80))\n",
        "point the connection at loopback",
    ),
    "blocking_connect": (
        "import socket\n"
        "async def test_it():\n"
        "    with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "        socket.create_connection(server.getsockname())\n",
        "a blocking socket connects",
    ),
    "warning": (
        "import warnings\ndef test_it():\n    warnings.warn('old', DeprecationWarning)\n",
        "DeprecationWarning: old",
    ),
    "marker": (
        "import pytest\n@pytest.mark.unheard_of\ndef test_it(): pass\n",
        "'unheard_of' not found in `markers`",
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_a_suite_that_breaks_the_rule_fails_and_says_why(name: str, tmp_path: Path) -> None:
    """Each tripwire fails its test with a sentence that names the rule."""
    source, sentence = _CASES[name]
    (tmp_path / "test_planted.py").write_text(source)

    finished = _run(tmp_path)

    assert finished.returncode != 0
    assert sentence in finished.stdout + finished.stderr


def test_a_clean_suite_passes(tmp_path: Path) -> None:
    """Awaiting tasks, loopback servers and the loop's own look-ups are allowed."""
    (tmp_path / "test_planted.py").write_text(
        "import asyncio\n"
        "async def test_it():\n"
        "    server = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)\n"
        "    async with server:\n"
        "        host, port = server.sockets[0].getsockname()\n"
        "        reader, writer = await asyncio.open_connection(host, port)\n"
        "        assert await reader.read() == b''\n"
        "        writer.close()\n"
        "        await writer.wait_closed()\n"
    )

    finished = _run(tmp_path)

    assert finished.returncode == 0, finished.stdout + finished.stderr


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}",
        "-p", "tests.hygiene", "-p", "no:cacheprovider", "-p", "no:randomly", str(folder),
    ]  # fmt: skip
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
