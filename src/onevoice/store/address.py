"""Where the database of a configuration is: another server's URL, or the embedded server of its data_dir."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from onevoice.settings import DatabaseSettings
from onevoice.store.embedded import EmbeddedServer


@asynccontextmanager
async def database_address(settings: DatabaseSettings) -> AsyncGenerator[str]:
    """The owner's connection string; the embedded server runs at least as long as the block."""
    url = settings.url.get_secret_value()
    if url:
        yield url
        return
    server = await asyncio.to_thread(EmbeddedServer.start, settings.data_dir)
    try:
        yield server.dsn
    finally:
        await asyncio.to_thread(server.stop)
