"""A loopback Graph server and a client for it, per test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.testing.graph_server import LoopbackGraph


@pytest.fixture
async def graph() -> AsyncIterator[LoopbackGraph]:
    async with LoopbackGraph(access_token="token-example") as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client
