"""What the commands share: the option ``--config`` and how it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onevoice.errors import ConfigurationError

if TYPE_CHECKING:
    from onevoice.settings import Settings

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        help="The configuration file. Without it: onevoice.toml in the working directory, if it is there.",
        show_default=False,
    ),
]

AccountOption = Annotated[str, typer.Option("--account", metavar="NAME", help="The account it belongs to.")]


def read_settings(
    config: Path | None, *, built_in: Mapping[str, object] | None = None, faults: Sequence[str] = ()
) -> Settings:
    """The effective settings; ``faults`` of the command line are reported together with theirs."""
    from onevoice.settings import load_settings

    found = list(faults)
    settings = None
    try:
        settings = load_settings(config, environment(), built_in=built_in)
    except ConfigurationError as error:
        found += error.faults
    if settings is None or found:
        raise ConfigurationError(found)
    return settings


def environment() -> Mapping[str, str]:
    """The variables this process was started with."""
    return os.environ  # noqa: TID251 - The one place where commands hand the environment to the settings.


def read_api_token() -> str | None:
    """The administrator's token of the account `default`, for automation; none when it is empty or unset."""
    return os.environ.get("ONEVOICE_API_TOKEN") or None  # noqa: TID251 - A secret, no setting.
