"""``onevoice parked``: the messages that wait for a human's decision."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from onevoice.entrypoints.cli_listing import JsonOption, Value, show
from onevoice.entrypoints.cli_options import AccountOption, ConfigOption, read_settings

if TYPE_CHECKING:
    from onevoice.settings import Settings

application = typer.Typer(
    name="parked",
    help="Parked messages: sealed, not sent, waiting for a human's decision.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

IdArgument = Annotated[UUID, typer.Argument(metavar="ID", help="The message's id, as `list` shows it.")]


@application.command("list")
def list_messages(
    *, account: AccountOption = "default", json: JsonOption = False, config: ConfigOption = None
) -> None:
    """List the parked messages of an account, the oldest first.

    \b
    Example: onevoice parked list
    """
    rows = asyncio.run(_list(read_settings(config), account))
    show(rows, title="Parked messages", nothing="no message is parked", json=json)


@application.command()
def release(message: IdArgument, *, account: AccountOption = "default", config: ConfigOption = None) -> None:
    """Let a parked message leave after all, behind what already waits in its conversation.

    \b
    Example: onevoice parked release 0190a4c2-7f3e-7b11-8a52-0d9f6a1c2e44
    """
    asyncio.run(_decide(read_settings(config), account, message, releases=True))
    typer.echo(f"{message} is released: it leaves when its lane is free")


@application.command()
def discard(message: IdArgument, *, account: AccountOption = "default", config: ConfigOption = None) -> None:
    """End a parked message for good.

    \b
    Example: onevoice parked discard 0190a4c2-7f3e-7b11-8a52-0d9f6a1c2e44
    """
    asyncio.run(_decide(read_settings(config), account, message, releases=False))
    typer.echo(f"{message} is discarded")


async def _list(settings: Settings, account: str) -> list[dict[str, Value]]:
    from onevoice.app import open_command
    from onevoice.entrypoints.parked import list_parked
    from onevoice.vocabulary import AccountId

    async with open_command(settings) as runtime:
        rows = await list_parked(runtime.database, AccountId(account))
    return [
        {
            "id": row["id"],
            "since": row["sealed_at"],
            "channel": row["channel"],
            "contact": row["contact_address"],
            "author": row["author"],
            "reason": row["reason"],
            "error": row["error_code"],
            "text": row["text"],
        }
        for row in rows
    ]


async def _decide(settings: Settings, account: str, message: UUID, *, releases: bool) -> None:
    from onevoice.app import open_command
    from onevoice.entrypoints.parked import ADMIN
    from onevoice.flow.operator.perform import discard_outbound, release_outbound
    from onevoice.vocabulary import AccountId, OutboundId

    act = release_outbound if releases else discard_outbound
    async with open_command(settings) as runtime:
        await act(runtime, AccountId(account), OutboundId(message), actor=ADMIN)
