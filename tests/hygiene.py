"""What every test must leave behind: no task, no blocked event loop, no connection to the world.

The interpreter's own audit events are the tripwire: they see what libraries do as well as onevoice.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address

import pytest

from onevoice.testing import loopback_only

_violations: list[str] = []


def _refuse(what: str) -> None:
    _violations.append(what)
    raise RuntimeError(what)


def _blocks_the_loop() -> bool:
    # Not the public get_running_loop: it raises, which costs too much on every audit event.
    return asyncio._get_running_loop() is not None


def _is_literal(host: object) -> bool:
    """Whether resolving the host asks nobody: an address, or none at all."""
    if host is None or host == "":
        return True
    try:
        ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return True


def _watch(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        if _blocks_the_loop() and not _is_literal(args[0]):
            _refuse(f"resolving {args[0]!r} blocks the event loop: use the loop's own getaddrinfo")
    elif event == "socket.connect":
        connection, address = args[0], args[1]
        if isinstance(connection, socket.socket) and connection.gettimeout() != 0 and _blocks_the_loop():
            _refuse(f"a blocking socket connects to {address!r} inside the event loop")


_real_sleep = time.sleep  # noqa: TID251  # Watched here, so that nobody else needs it.


def _watched_sleep(seconds: float) -> None:
    if _blocks_the_loop():
        _refuse("time.sleep blocks the event loop: sleep through the Clock port")
    _real_sleep(seconds)


def pytest_configure() -> None:
    sys.addaudithook(_watch)
    # Python 3.11 raises no audit event for it.
    time.sleep = _watched_sleep  # noqa: TID251


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            # First in, last out: it looks after every other fixture has cleaned up.
            item.fixturenames.insert(0, "no_task_left")


@pytest.fixture(autouse=True)
def no_violation() -> Iterator[None]:
    """Keep a test on this machine, and fail it when a violation was swallowed on its way up."""
    _violations.clear()
    with loopback_only():
        yield
    found = list(_violations)
    _violations.clear()
    if found:
        pytest.fail("; ".join(found), pytrace=False)


@pytest.fixture
async def no_task_left() -> AsyncIterator[None]:
    """Fail a test that leaves a task running: it would outlive its database and its clock."""
    before = asyncio.all_tasks()
    yield
    left: set[asyncio.Task[object]] = set()
    for _ in range(3):
        left = {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}
        if not left:
            return
        # A task that has been cancelled needs turns of the loop to end; no time passes.
        await asyncio.sleep(0)  # noqa: TID251
    names = ", ".join(sorted(f"{task.get_name()} ({_coroutine_name(task)})" for task in left))
    for task in left:
        task.cancel()
    pytest.fail(f"the test left tasks running: {names}", pytrace=False)


def _coroutine_name(task: asyncio.Task[object]) -> str:
    return getattr(task.get_coro(), "__qualname__", "unknown")
