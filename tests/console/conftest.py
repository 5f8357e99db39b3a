"""Chromium, driven from outside: the distribution's own, by path."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
from playwright.async_api import Browser, async_playwright

from onevoice.adapters.clock import SystemClock
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
from tests.webchat_site import Site, serve

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Without Chromium a person's run skips these tests; the pipeline's run fails."""
    path = os.environ.get("ONEVOICE_TEST_CHROMIUM", "/usr/bin/chromium")  # noqa: TID251 - No setting of the product.
    if not Path(path).exists():
        reason = f"no Chromium at {path}: install it, or name it in ONEVOICE_TEST_CHROMIUM"
        if os.environ.get("CI"):  # noqa: TID251 - The same.
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=_FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def api_database(database: Database, database_dsn: str) -> AsyncIterator[Database]:
    """The API role's connections; `database` empties the tables afterwards."""
    opened = await Database.open(database_dsn, role="onevoice_api", connections_max=4)
    yield opened
    await opened.close()


@pytest.fixture
async def site(database: Database, owner: Connection) -> AsyncIterator[Site]:
    """The chat site, in real time."""
    async with JournalFeed(database, poll_seconds=0.05) as feed:
        site = Site(database=database, feed=feed, clock=SystemClock(), connection=owner)
        site.add_page(title="Padaria Aurora", language="pt")
        yield site


@pytest.fixture
async def url(site: Site) -> AsyncIterator[str]:
    async with serve(site.app(), site.feed) as url:
        yield url
