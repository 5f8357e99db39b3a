"""All checks in the order in which their findings are read."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from onevoice.entrypoints.doctor.channels import check_channels
from onevoice.entrypoints.doctor.database import check_database
from onevoice.entrypoints.doctor.extension import check_agent, check_triage
from onevoice.entrypoints.doctor.finding import Finding, fault, ok
from onevoice.entrypoints.doctor.machine import check_data_dir, check_disk, check_public_url
from onevoice.entrypoints.doctor.media import check_media, check_transcription
from onevoice.errors import OnevoiceError
from onevoice.settings import Settings
from onevoice.store.address import database_address


async def examine(settings: Settings) -> list[Finding]:
    """Look at everything; no message is sent, and a file written as a trial is deleted again."""
    machine = [check_data_dir(settings), check_disk(settings), check_public_url(settings)]
    database, agent, channels, media, transcription = await asyncio.gather(
        _check_database(settings),
        check_agent(settings),
        check_channels(settings),
        check_media(settings),
        check_transcription(settings),
    )
    return [
        ok("configuration", f"version {settings.version()}"),
        *database,
        *machine,
        ok("broker", "none; PostgreSQL alone does the work"),
        agent,
        check_triage(settings),
        media,
        transcription,
        *channels,
    ]


async def _check_database(settings: Settings) -> list[Finding]:
    """The embedded server is started when its data is there; looking never makes a new one."""
    cluster = settings.database.data_dir.expanduser() / "postgres"
    if not settings.database.url.get_secret_value() and not cluster.exists():
        return [ok("database", "embedded; it will be made at the first start")]
    async with AsyncExitStack() as stack:
        try:
            dsn = await stack.enter_async_context(database_address(settings.database))
        except OnevoiceError as error:
            return [fault("database", str(error), "see the log it names, or set database.url")]
        return await check_database(dsn)
