"""When a notification is tried again, and when it is given up. Pure."""

from __future__ import annotations

TRIES_MAX = 8
WAIT_SECONDS_MAX = 600.0


def choose_wait_seconds(try_count: int, *, jitter: float) -> float | None:
    """Seconds until the next try after so many; ``None`` gives up: the journal and the live feed still tell it."""
    if try_count >= TRIES_MAX:
        return None
    return min(WAIT_SECONDS_MAX, float(2**try_count)) * jitter
