"""The chat site in this process and on loopback, and a browser-like client for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest
from httpx2 import ASGITransport, AsyncClient

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
from onevoice.testing.manual_clock import ManualClock
from tests.webchat_site import Site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ORIGIN = "http://chat.test"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def feed(database: Database) -> AsyncIterator[JournalFeed]:
    async with JournalFeed(database, poll_seconds=0.02) as feed:
        yield feed


@pytest.fixture
async def api_database(database: Database, database_dsn: str) -> AsyncIterator[Database]:
    """As in production, the routes see one account per transaction."""
    api_database = await Database.open(database_dsn, role="onevoice_api", connections_max=4)
    yield api_database
    await api_database.close()


@pytest.fixture
def site(api_database: Database, feed: JournalFeed, clock: ManualClock, owner: Connection) -> Site:
    site = Site(database=api_database, feed=feed, clock=clock, connection=owner)
    site.add_page()
    return site


@pytest.fixture
async def client(site: Site) -> AsyncIterator[AsyncClient]:
    """A browser that has not been here before."""
    transport = ASGITransport(app=site.app())
    async with AsyncClient(transport=transport, base_url=ORIGIN, headers={"origin": ORIGIN}) as client:
        yield client


@pytest.fixture
async def visitor(client: AsyncClient) -> str:
    """The id of the visitor whose cookie ``client`` holds after loading the page."""
    answer = await client.get("/chat/loja")
    assert answer.status_code == 200
    return client.cookies["onevoice_visitor_loja"].partition(".")[0]
