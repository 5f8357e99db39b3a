"""A loopback Graph server and a client for it, per test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.media.guard import GuardedTransport, origin_of
from onevoice.testing.graph_server import LoopbackGraph
from tests.wire.whatsapp.downloads import REF, VOICE
from tests.wire.whatsapp.wire import make_channel


@pytest.fixture
async def graph() -> AsyncIterator[LoopbackGraph]:
    async with LoopbackGraph(access_token="token-example") as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client


@pytest.fixture
async def files(graph: LoopbackGraph) -> AsyncIterator[httpx2.AsyncClient]:
    """As in production: only the stand-in's own origin may be on this machine."""
    async with (
        httpx2.AsyncHTTPTransport(trust_env=False) as plain,
        httpx2.AsyncClient(
            transport=GuardedTransport(plain=plain, trusted=[origin_of(graph.url)]), trust_env=False
        ) as client,
    ):
        yield client


@pytest.fixture
def channel(graph: LoopbackGraph, http: httpx2.AsyncClient, files: httpx2.AsyncClient) -> WhatsAppChannel:
    graph.media.put(REF.external_id, VOICE)
    return make_channel(http, graph_url=graph.url, files=files)
