"""``onevoice serve`` and ``onevoice demo``: the server in the foreground."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from onevoice.entrypoints.cli_options import ConfigOption, read_api_token, read_settings
from onevoice.entrypoints.demo_opening import opening
from onevoice.errors import AddressUnusable

if TYPE_CHECKING:
    from onevoice.entrypoints.operators import Operators
    from onevoice.settings import Settings

HostOption = Annotated[str, typer.Option("--host", metavar="H", help="The address to listen on.")]
PortOption = Annotated[
    int,
    typer.Option("--port", metavar="P", min=0, max=65535, help="The port to listen on; 0 takes a free one."),
]
RoleOption = Annotated[
    str,
    typer.Option("--role", metavar="ROLE", help="What this process does; all is the only one built so far."),
]

_ROLES_NOT_BUILT = ("web", "worker", "dispatcher")
DEMO_SETTINGS: dict[str, object] = {
    "turns": {"debounce_seconds": 3.0},
    "agent": {"use": "builtin:demo"},
    "channels": [{"name": "demo", "kind": "webchat", "title": "Clínica Aurora"}],
}


def serve(
    *,
    config: ConfigOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    role: RoleOption = "all",
) -> None:
    """Run the server: webhooks, workers, operator console and API.

    Prints `ready` on stdout once it accepts traffic. SIGTERM and Ctrl-C let running work end, then it exits
    with 0.

    \b
    Example: onevoice serve --config onevoice.toml --host 0.0.0.0 --port 8080
    """
    settings = read_settings(config, faults=role_faults(role))

    def announce(url: str) -> None:
        typer.echo(f"onevoice listens on {url}", err=True)
        typer.echo("ready")

    _run(settings, host=host, port=port, ready=announce)


def demo(*, config: ConfigOption = None, host: HostOption = "127.0.0.1", port: PortOption = 8080) -> None:
    """Try it: a webchat page, the console and an offline agent.

    Runs the server with a built-in configuration (or with --config). Nothing else must be installed or
    started, no key is needed; the database comes along and lives under .onevoice.

    \b
    Example: onevoice demo --port 8081
    """
    settings = read_settings(config, built_in=DEMO_SETTINGS)
    login = ""

    async def prepare(operators: Operators) -> None:
        from onevoice.entrypoints.operators.demo import DEMO_NAME, prepare_demo_operator

        nonlocal login
        password = await prepare_demo_operator(operators, settings.database.data_dir.expanduser())
        login = f"name {DEMO_NAME}, password {password}"

    def announce(url: str) -> None:
        chats = [channel.name for channel in settings.channels if channel.kind == "webchat"]
        data_dir = str(settings.database.data_dir)
        typer.echo(opening(url, chats=chats, login=login, data_dir=data_dir))
        typer.echo("ready")

    _run(settings, host=host, port=port, ready=announce, prepare=prepare)


def role_faults(role: str) -> list[str]:
    """Why this role cannot be had; nothing for `all`."""
    if role == "all":
        return []
    if role in _ROLES_NOT_BUILT:
        return [f"--role: {role} is not built yet; leave it out, one process does everything"]
    return ["--role: no such role; leave it out, one process does everything (all)"]


def _run(
    settings: Settings,
    *,
    host: str,
    port: int,
    ready: Callable[[str], None],
    prepare: Callable[[Operators], Awaitable[None]] | None = None,
) -> NoReturn:
    refuse_unusable_address(host, port)

    import uvloop

    from onevoice.entrypoints.serve import serve as serve_application

    status = uvloop.run(
        serve_application(
            settings, host=host, port=port, ready=ready, api_token=read_api_token(), prepare=prepare
        )
    )
    raise typer.Exit(status)


def refuse_unusable_address(host: str, port: int) -> None:
    """Say before anything starts that this address cannot be listened on, and why."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise AddressUnusable(
            f"--host: {host} is no address of this machine; 127.0.0.1 listens locally, 0.0.0.0 everywhere"
        ) from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise AddressUnusable(_why_not(error, host, port)) from None


def _why_not(error: OSError, host: str, port: int) -> str:
    import errno

    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use by another process; stop it, or choose another with --port"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"port {port} may only be opened by an administrator; choose one above 1023 with --port"
    return (
        f"--host: {host} is no address of this machine; 127.0.0.1 listens locally, 0.0.0.0 everywhere "
        f"({error.strerror})"
    )
