"""Where the database of a configuration is: another server's URL, or the embedded server of its data_dir."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from subprocess import SubprocessError

from onevoice.errors import EmbeddedServerFailed
from onevoice.settings import DatabaseSettings
from onevoice.store.embedded import EmbeddedServer

LOG = logging.getLogger("onevoice.store")

# How soon a server that was killed is started again: while it is away, webhooks are answered with 503.
REVIVE_SECONDS = 0.5


@asynccontextmanager
async def database_address(settings: DatabaseSettings) -> AsyncGenerator[str]:
    """The owner's connection string; the embedded server runs at least as long as the block."""
    url = settings.url.get_secret_value()
    if url:
        yield url
        return
    server = await asyncio.to_thread(EmbeddedServer.start, settings.data_dir)
    ending = asyncio.Event()
    reviving = asyncio.create_task(_keep_alive(server, ending), name="embedded server")
    try:
        yield server.dsn
    finally:
        ending.set()
        await reviving
        await asyncio.to_thread(server.stop)


async def _keep_alive(server: EmbeddedServer, ending: asyncio.Event) -> None:
    """Start the server again when something outside has killed it, the kernel for want of memory, say."""
    while not ending.is_set():
        try:
            if await asyncio.to_thread(server.revive):
                LOG.warning("the embedded PostgreSQL had ended and runs again")
        except (EmbeddedServerFailed, OSError, SubprocessError) as error:
            LOG.error("the embedded PostgreSQL does not start again", exc_info=error)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REVIVE_SECONDS):
                await ending.wait()
