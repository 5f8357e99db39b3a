"""Wall time: the journal's instants and this process's are compared, and both read the same machine's clock."""

from __future__ import annotations

import time
from datetime import datetime


def wall_seconds() -> float:
    """Seconds since 1970."""
    return time.time()  # noqa: TID251 - The Clock port only measures durations in production.


def seconds_of(instant: str) -> float:
    """The same of an instant as the API writes it."""
    return datetime.fromisoformat(instant).timestamp()
