"""The long form's fuzzing reaches the code that reads: most of what it makes is still a webhook."""

from __future__ import annotations

from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.errors import BodyUnreadable
from onevoice.ports.channel import UnknownItem
from tests.fuzz.coverage_guided import BYTES_MAX, change_body, recorded_bodies

CHANGES_PER_BODY = 40


def _is_read(body: bytes) -> bool:
    try:
        return any(not isinstance(item, UnknownItem) for item in parse(body))
    except BodyUnreadable:
        return False


def test_what_it_changes_is_still_read() -> None:
    """Bytes that are no JSON are a small share; the same seed makes the same body."""
    bodies = recorded_bodies()
    changed = [
        change_body(body, BYTES_MAX, seed, otherwise=lambda data, _: data[:-1])
        for body in bodies
        for seed in range(CHANGES_PER_BODY)
    ]

    assert sum(map(_is_read, bodies)) >= 0.8 * len(bodies)
    assert sum(map(_is_read, changed)) >= 0.4 * len(changed)
    assert len(set(changed)) >= 0.6 * len(changed)
    assert changed[0] == change_body(bodies[0], BYTES_MAX, 0, otherwise=lambda data, _: data[:-1])
