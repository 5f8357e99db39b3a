"""The command ``onevoice``: which commands there are, and what an expected failure looks like.

An expected failure is a sentence on stderr, never a stack trace; the status is 2 for the configuration
and the command line, else 1.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, NoReturn

import typer

from onevoice.entrypoints import cli_database, cli_doctor, cli_operator, cli_parked, cli_serve, cli_simulate
from onevoice.errors import ConfigurationError, OnevoiceError

# Without markup, help needs no rich and shows in a tenth of a second.
application = typer.Typer(
    name="onevoice",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"onevoice {_version()}")
        raise typer.Exit


def _version() -> str:
    try:
        return version("onevoice")
    except PackageNotFoundError:
        return "(not installed)"


@application.callback()
def onevoice(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """One conversation, one voice: decides when AI agents, operators and channels may speak to a customer.

    Try it without keys and accounts: `onevoice demo`. Every command works beside a running `serve` on the
    same data_dir. Settings: docs/settings.md.
    """


application.command()(cli_serve.serve)
application.command()(cli_serve.demo)
application.command()(cli_simulate.simulate)
application.command()(cli_database.migrate)
application.command()(cli_doctor.doctor)
application.command()(cli_database.backup)
application.command()(cli_database.restore)
application.add_typer(cli_operator.application, name="operator")
application.add_typer(cli_parked.application, name="parked")


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        application(prog_name="onevoice")
    except ConfigurationError as error:
        _fail(error.faults, status=2)
    except OnevoiceError as error:
        _fail([str(error)], status=1)
    sys.exit(0)


def _fail(lines: list[str], *, status: int) -> NoReturn:
    for line in lines:
        typer.echo(line, err=True)
    sys.exit(status)
