"""What the console is given by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.http.limits import Slots
from onevoice.entrypoints.operators import Sessions
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Database

_STREAMS_OF_OPERATOR = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleServices:
    """``database`` is open under the role ``onevoice_api``; every transaction names the operator's account.

    ``runtime`` carries out commands over the same database. ``public_url`` is the address operators use, when a
    proxy hides it. ``beat_seconds`` bounds the silence of a stream, and how long one outlives its sign-out.
    """

    database: Database
    runtime: Runtime
    sessions: Sessions
    feed: JournalFeed
    canonical_aliases: Callable[[str], Sequence[str]]
    public_url: str = ""
    beat_seconds: float = 15.0
    streams: Slots = field(default_factory=lambda: Slots(per_key=_STREAMS_OF_OPERATOR))
