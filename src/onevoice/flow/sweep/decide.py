"""How often the sweep looks, and how much it takes on at once. Pure."""

from __future__ import annotations

# Rows of one kind per look: a backlog is worked off over several looks, never in one unbounded query.
LIMIT = 200


def choose_pause_seconds(found: int, *, lease_seconds: float) -> float:
    """Look again at once while there is a backlog, else a few times within a lease."""
    if found >= LIMIT:
        return 0.0
    return max(0.5, min(1.0, lease_seconds / 6))
