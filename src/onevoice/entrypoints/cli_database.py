"""The commands about the database."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from onevoice.entrypoints.cli_options import ConfigOption, read_settings

if TYPE_CHECKING:
    from onevoice.settings import Settings


def migrate(*, config: ConfigOption = None) -> None:
    """Bring the database's schema up to date.

    Changes nothing when it already is.

    `serve` does the same when it starts; this command is for a database user who may create tables while the
    server's may not. Names each step on stdout.

    \b
    Example: onevoice migrate --config onevoice.toml
    """
    settings = read_settings(config)
    applied = asyncio.run(_migrate(settings))
    for name in applied:
        typer.echo(f"applied {name}")
    if not applied:
        typer.echo("nothing to do: the schema is up to date")


async def _migrate(settings: Settings) -> list[str]:
    from onevoice.store.address import database_address
    from onevoice.store.migrate import migrate as migrate_database

    async with database_address(settings.database) as dsn:
        return await migrate_database(dsn)
