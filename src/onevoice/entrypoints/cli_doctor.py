"""``onevoice doctor``: look at everything, change nothing, say what to do."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from onevoice.entrypoints.cli_options import ConfigOption, read_settings
from onevoice.errors import ConfigurationError

JsonOption = Annotated[bool, typer.Option("--json", help="Print the findings as JSON on stdout.")]


def doctor(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check everything and say what to do about each finding.

    Looks at configuration, database, data_dir, disk, clock, public_url, agent, triage and channels.
    Changes nothing and sends no message; asks the platform of each WhatsApp number whether it knows number
    and token.
    Exits with 1 when something is at fault, with 2 when the configuration cannot be read.

    \b
    Example: onevoice doctor --config onevoice.toml
    """
    from onevoice.entrypoints.doctor import Finding, Level, as_json, as_lines, as_table, examine

    try:
        settings = read_settings(config)
    except ConfigurationError as error:
        if json:
            faults = [
                Finding(
                    name="configuration", level=Level.FAULT, what=what, act="correct it and run doctor again"
                )
                for what in error.faults
            ]
            typer.echo(as_json(faults))
        raise
    findings = asyncio.run(examine(settings))
    if json:
        typer.echo(as_json(findings))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(as_table(findings))
    else:
        typer.echo(as_lines(findings))
    if any(finding.level is Level.FAULT for finding in findings):
        raise typer.Exit(1)
