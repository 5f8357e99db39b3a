"""The same tests on each server that onevoice supports: the embedded one and an older one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from itertools import count

import pytest

from tests.postgres import TestServer

_numbers = count(1)


@pytest.fixture(params=["embedded", pytest.param("older", marks=pytest.mark.postgres15)])
def each_server(request: pytest.FixtureRequest) -> TestServer:
    """The embedded server, then the one that ONEVOICE_TEST_POSTGRES_URL names, as its superuser."""
    if request.param == "embedded":
        found: TestServer = request.getfixturevalue("embedded_server")
        return found
    dsn = os.environ.get("ONEVOICE_TEST_POSTGRES_URL")  # noqa: TID251 - Chooses a server for tests, no setting.
    if not dsn:
        pytest.skip("ONEVOICE_TEST_POSTGRES_URL names no server")
    return TestServer(dsn=dsn)


@pytest.fixture
async def anywhere(each_server: TestServer, process_name: str) -> AsyncIterator[str]:
    """An empty database on each server."""
    name = f"onevoice_test_{process_name}_anywhere_{next(_numbers)}"
    yield await each_server.create(name)
    await each_server.drop(name)
