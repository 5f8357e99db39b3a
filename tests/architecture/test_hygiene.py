"""The suite's own tripwires, tried by suites that break each rule on purpose."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

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


_CLEAN = (
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


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one run over all planted suites said about each of them; nothing for a suite that passed."""
    folder = tmp_path_factory.mktemp("planted")
    for name, source in {**{name: source for name, (source, _) in _CASES.items()}, "clean": _CLEAN}.items():
        (folder / f"test_{name}.py").write_text(source)
    report = folder / "report.xml"
    command = [
        sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}",
        "-p", "tests.hygiene", "-p", "no:cacheprovider", "--continue-on-collection-errors",
        f"--junitxml={report}", str(folder),
    ]  # fmt: skip
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert report.exists(), finished.stdout + finished.stderr
    said: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - Pytest wrote it just now.
        name = f"{case.get('classname')}.{case.get('name')}".split("test_")[1].split(".")[0]
        texts = [f"{part.get('message')}\n{part.text}" for part in case if part.tag in {"failure", "error"}]
        said[name] = said.get(name, "") + "".join(texts)
    return said


@pytest.mark.parametrize("name", _CASES)
def test_a_suite_that_breaks_the_rule_fails_and_says_why(name: str, complaints: dict[str, str]) -> None:
    """Each tripwire fails its test with a sentence that names the rule."""
    assert _CASES[name][1] in complaints[name]


def test_a_clean_suite_passes(complaints: dict[str, str]) -> None:
    """Loopback servers, awaited tasks and the loop's own look-ups are allowed."""
    assert complaints["clean"] == ""
