"""The live stream: which conversations changed, and nothing of what is in them; the page then asks for its parts."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.visit import Visit
from onevoice.entrypoints.http.webchat.stream import EventStream
from onevoice.errors import DatabaseUnavailable, StatementFailed

__all__ = ["stream_changes"]

LOG = logging.getLogger(__name__)

_RETRY_MILLISECONDS = 2000


async def stream_changes(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """Every change of the account from now on. The page reads everything anew when it connects again."""
    key = str(visit.principal.operator_id)
    if not services.streams.take(key):
        raise Refusal(429, "too_many_streams")
    return EventStream(_changes(services, visit), on_end=lambda: services.streams.free(key))


async def _changes(services: ConsoleServices, visit: Visit) -> AsyncIterator[bytes]:
    """Until the browser leaves, the session ends or the process stops."""
    monotonic = services.runtime.clock.monotonic
    try:
        async with services.feed.subscribe(None, account=visit.account) as subscription:
            yield b"retry: %d\nevent: ready\ndata: {}\n\n" % _RETRY_MILLISECONDS
            checked_at = monotonic()
            while not subscription.ended:
                entries = await subscription.batch(seconds_max=services.beat_seconds)
                if monotonic() - checked_at >= services.beat_seconds:
                    # Who signed out, or was disabled, is told nothing more.
                    if await services.sessions.read(visit.secret, keeps_alive=False) is None:
                        yield b"event: signed_out\ndata: {}\n\n"
                        return
                    checked_at = monotonic()
                changed = {str(entry.conversation_id) for entry in entries if entry.conversation_id}
                yield _event("changed", sorted(changed)) if changed else b": beat\n\n"
    except (DatabaseUnavailable, StatementFailed) as error:
        # The browser connects again and reads everything anew.
        LOG.warning("a console stream ended: %s", error)


def _event(name: str, conversations: list[str]) -> bytes:
    data = msgspec.json.encode({"conversations": conversations})
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
