"""What the API is given by the composition root, and how a route gets at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.operators.principal import Authenticator
from onevoice.flow.runtime import Runtime
from onevoice.ports.clock import Clock
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    """``database`` is open under the role ``onevoice_api``; every transaction of a route names one account.

    ``runtime`` carries out commands, over the same database. ``canonical_aliases`` turns what somebody typed for
    a contact into the keys under which channels know it. ``accepting`` is false from the start of a shutdown on.
    ``keep_alive_seconds`` bounds the silence of an event stream; stopping the feed ends every stream.
    """

    database: Database
    runtime: Runtime
    clock: Clock
    telemetry: Telemetry
    authenticator: Authenticator
    feed: JournalFeed
    canonical_aliases: Callable[[str], Sequence[str]]
    accepting: Callable[[], bool]
    keep_alive_seconds: float = 15.0


def _services(request: Request) -> ApiServices:
    return cast(ApiServices, request.app.state.services)


Services = Annotated[ApiServices, Depends(_services)]
