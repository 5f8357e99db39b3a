"""The commands about the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onevoice.entrypoints.cli_options import ConfigOption, read_settings
from onevoice.errors import BackupFailed

if TYPE_CHECKING:
    from onevoice.settings import Settings

TargetArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")]
SourceArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file that `onevoice backup` wrote.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the data that is in data_dir now.")]


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


def backup(target: TargetArgument, *, config: ConfigOption = None) -> None:
    """Write all data of the embedded server to one file.

    The server may be running. Only this user can read the file: it holds every conversation. For a database
    of your own (database.url), use its own tools, such as pg_dump.

    \b
    Example: onevoice backup onevoice-monday.tar
    """
    data_dir = _embedded_data_dir(read_settings(config))
    from onevoice.store.backup import backup as write_backup

    write_backup(data_dir, target)
    typer.echo(f"the data of {data_dir} is in {target}")


def restore(source: SourceArgument, *, force: ForceOption = False, config: ConfigOption = None) -> None:
    """Put a backup into data_dir; stop the server first.

    The backup is read and checked as a whole before anything is touched.

    \b
    Example: onevoice restore onevoice-monday.tar --force
    """
    data_dir = _embedded_data_dir(read_settings(config))
    from onevoice.store.backup import restore as read_backup

    read_backup(source, data_dir, force=force)
    typer.echo(f"the data of {source} is in {data_dir}; `onevoice serve` carries on with it")


def _embedded_data_dir(settings: Settings) -> Path:
    if settings.database.url.get_secret_value():
        raise BackupFailed(
            "database.url names a server of your own, and this command knows the embedded one only; "
            "use that server's tools, such as pg_dump and pg_restore"
        )
    return settings.database.data_dir.expanduser()


async def _migrate(settings: Settings) -> list[str]:
    from onevoice.store.address import database_address
    from onevoice.store.migrate import migrate as migrate_database

    async with database_address(settings.database) as dsn:
        return await migrate_database(dsn)
