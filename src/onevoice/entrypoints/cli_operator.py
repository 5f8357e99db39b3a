"""``onevoice operator``: who may answer, with which password or token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from onevoice.entrypoints.cli_listing import JsonOption, Value, show
from onevoice.entrypoints.cli_options import AccountOption, ConfigOption, read_settings

if TYPE_CHECKING:
    from onevoice.entrypoints.operators import Operators
    from onevoice.settings import Settings

application = typer.Typer(
    name="operator",
    help="Operators: who may answer, with which password or token.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The operator's name.")]
RoleOption = Annotated[str, typer.Option("--role", metavar="ROLE", help="admin or operator.")]
TokenOption = Annotated[bool, typer.Option("--token", help="Print an API token instead of a password.")]
RevokeOption = Annotated[bool, typer.Option("--revoke-others", help="Revoke the operator's earlier tokens.")]
_ROLES = ("admin", "operator")


@application.command()
def add(
    name: NameArgument,
    *,
    role: RoleOption = "operator",
    token: TokenOption = False,
    account: AccountOption = "default",
    config: ConfigOption = None,
) -> None:
    """Add an operator.

    Prints a one-time password on stdout, or with --token an API token: it is shown now and never again. An
    admin may also take from a holder, act on what others hold, and lift the pause of a channel.

    \b
    Example: onevoice operator add ana --role admin
    """
    faults = [] if role in _ROLES else [f"--role: no such role; use {' or '.join(_ROLES)}"]
    settings = read_settings(config, faults=faults)
    secret = asyncio.run(_add(settings, account, name, role=role, token=token))
    typer.echo(f"{name} was added to account {account} as {role}; this is shown once:", err=True)
    typer.echo(secret)
    _warn_of_strange_account(settings, account)


@application.command("list")
def list_operators(
    *,
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="NAME", help="Only this account.", show_default=False),
    ] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List the operators, of every account or of one.

    Shows each one's role, how they can come in, and how many conversations they hold.

    \b
    Example: onevoice operator list --account default
    """
    rows = asyncio.run(_list(read_settings(config), account))
    show(
        rows,
        title="Operators",
        nothing="there is no operator yet; `onevoice operator add NAME` adds one",
        json=json,
    )


@application.command()
def disable(name: NameArgument, *, account: AccountOption = "default", config: ConfigOption = None) -> None:
    """Refuse an operator from now on.

    Their sessions end and their tokens are revoked. What they hold stays theirs until an admin takes,
    releases or transfers it.

    \b
    Example: onevoice operator disable ana
    """
    held = asyncio.run(_disable(read_settings(config), account, name))
    typer.echo(f"{name} is disabled")
    if held:
        typer.echo(
            f"{name} holds {held} conversation(s); an admin can take them with force, release or transfer them",
            err=True,
        )


@application.command()
def enable(name: NameArgument, *, account: AccountOption = "default", config: ConfigOption = None) -> None:
    """Let a disabled operator in again.

    The password works as before; tokens have to be made anew.

    \b
    Example: onevoice operator enable ana
    """
    asyncio.run(_enable(read_settings(config), account, name))
    typer.echo(f"{name} is enabled")


@application.command()
def token(
    name: NameArgument,
    *,
    revoke_others: RevokeOption = False,
    account: AccountOption = "default",
    config: ConfigOption = None,
) -> None:
    """Print a new API token for an operator: it alone, on stdout, once.

    Earlier tokens go on working, unless they are revoked: so a token can be replaced without a gap.

    \b
    Example: onevoice operator token ana --revoke-others
    """
    typer.echo(asyncio.run(_token(read_settings(config), account, name, revokes_others=revoke_others)))


@application.command()
def password(name: NameArgument, *, account: AccountOption = "default", config: ConfigOption = None) -> None:
    """Print a new password for an operator: it alone, on stdout, once.

    The old one stops working, and whoever is signed in with it is signed out.

    \b
    Example: onevoice operator password ana
    """
    typer.echo(asyncio.run(_password(read_settings(config), account, name)))


async def _add(settings: Settings, account: str, name: str, *, role: str, token: bool) -> str:
    from onevoice.entrypoints.operators import Role
    from onevoice.entrypoints.operators.secret import new_password
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        secret = None if token else new_password()
        operator = await operators.add(AccountId(account), name, role=Role(role), password=secret)
        return secret or await operators.give_token(operator)


async def _list(settings: Settings, account: str | None) -> list[dict[str, Value]]:
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        found = await operators.list(None if account is None else AccountId(account))
    return [
        {
            "account": each.operator.account,
            "name": each.operator.name,
            "role": each.operator.role.value,
            "password": each.operator.has_password,
            "tokens": each.token_count,
            "holds": each.conversation_count,
            "disabled": each.operator.disabled_at,
            "id": each.operator.id,
        }
        for each in found
    ]


async def _disable(settings: Settings, account: str, name: str) -> int:
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        operator = await operators.find(AccountId(account), name)
        await operators.disable(operator)
        listed = await operators.list(operator.account)
    return sum(each.conversation_count for each in listed if each.operator.id == operator.id)


async def _enable(settings: Settings, account: str, name: str) -> None:
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        await operators.enable(await operators.find(AccountId(account), name))


async def _token(settings: Settings, account: str, name: str, *, revokes_others: bool) -> str:
    from onevoice.errors import OperatorUnknown
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        operator = await operators.find(AccountId(account), name)
        if operator.disabled_at is not None:
            raise OperatorUnknown(f"{name} is disabled; `onevoice operator enable {name}` first")
        return await operators.give_token(operator, revokes_others=revokes_others)


async def _password(settings: Settings, account: str, name: str) -> str:
    from onevoice.entrypoints.operators.secret import new_password
    from onevoice.vocabulary import AccountId

    async with _open(settings) as operators:
        secret = new_password()
        await operators.set_password(await operators.find(AccountId(account), name), secret)
    return secret


@asynccontextmanager
async def _open(settings: Settings) -> AsyncGenerator[Operators]:
    from onevoice.app import open_command
    from onevoice.entrypoints.operators import Operators, Passwords

    async with open_command(settings) as runtime:
        yield Operators(runtime.database, clock=runtime.clock, chance=runtime.chance, passwords=Passwords())


def _warn_of_strange_account(settings: Settings, account: str) -> None:
    known = {"default", *(channel.account for channel in settings.channels)}
    if account not in known:
        typer.echo(
            f"no channel of this configuration belongs to account {account}; known: {', '.join(sorted(known))}",
            err=True,
        )
