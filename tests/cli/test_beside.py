"""Commands beside a running server on the same data_dir, and the login that the demo prints."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from httpx2 import Client

from tests.architecture.project import ROOT
from tests.cli.command import run_command

_LOGIN = re.compile(r"Answer as an operator +(http\S+)/console\n +name demo, password ([a-z2-9-]{23})\n")


@contextmanager
def running_demo(folder: Path) -> Iterator[list[str]]:
    """What a demo prints up to `ready`; it is stopped by Ctrl-C and ends with 0."""
    with subprocess.Popen(
        [sys.executable, "-m", "onevoice", "demo", "--port", "0"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            printed: list[str] = []
            for line in process.stdout:
                printed.append(line.rstrip())
                if printed[-1] == "ready":
                    break
            yield printed
        finally:
            process.send_signal(signal.SIGINT)
            status = process.wait(30)
    assert status == 0


def login(printed: list[str]) -> tuple[str, str]:
    """The server's address and the password."""
    [(url, password)] = _LOGIN.findall("\n".join(printed))
    return url, password


def test_an_operator_is_added_and_disabled_beside_the_demo(tmp_path: Path) -> None:
    """A token works as soon as it is printed, and no longer once its operator is disabled."""
    with running_demo(tmp_path) as printed:
        url, _ = login(printed)
        token = run_command(tmp_path, "operator", "add", "ana", "--token").out.strip()
        with Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            added = client.get("/api/v1/operators")
            listed = run_command(tmp_path, "parked", "list")
            run_command(tmp_path, "operator", "disable", "ana")
            disabled = client.get("/api/v1/operators")

    assert added.status_code == 200, added.text
    assert [item["name"] for item in added.json()["items"]] == ["ana", "demo"]
    assert listed.lines == ["no message is parked"]
    assert disabled.status_code == 401


def test_the_demos_login_stays_the_same(tmp_path: Path) -> None:
    """It is printed at each start; only this user can read the file it is kept in."""
    with running_demo(tmp_path) as printed:
        _, first = login(printed)
        chat = [line for line in printed if "/chat/demo" in line]
    with running_demo(tmp_path) as printed:
        _, second = login(printed)

    kept = tmp_path / ".onevoice" / "demo_password"
    assert first == second == kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert len(chat) == 1
