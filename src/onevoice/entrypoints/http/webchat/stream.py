"""The visitor's live stream: a snapshot, then whatever changed. Applying any event twice is harmless."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from onevoice.entrypoints.http.feed import JournalFeed, Position, Subscription
from onevoice.entrypoints.http.webchat.view import Items, View
from onevoice.errors import DatabaseUnavailable, StatementFailed

__all__ = ["EventStream", "visitor_events"]

LOG = logging.getLogger(__name__)

_BEAT_SECONDS = 20.0
_RETRY_MILLISECONDS = 1500


class EventStream(StreamingResponse):
    """Server-sent events; ``on_end`` runs once, however the connection ends."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], *, on_end: Callable[[], None]) -> None:
        super().__init__(events, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


async def visitor_events(
    view: View, feed: JournalFeed, *, after: Position | None, beat_seconds: float = _BEAT_SECONDS
) -> AsyncIterator[bytes]:
    """Events until the browser leaves or the process stops; the browser then resumes from the last id it saw.

    The subscription comes before the first read: what that read does not show yet is announced afterwards.
    """
    try:
        async with feed.subscribe(view.conversation_id, account=view.account) as subscription:
            yield f"retry: {_RETRY_MILLISECONDS}\n\n".encode()
            items, state = await view.now()
            if after is None or after > subscription.position or await view.has_changed_since(after):
                yield _event("snapshot", items.as_json(), subscription.position)
            yield _event("state", state, subscription.position)
            async for event in _changes(view, subscription, items, state, beat_seconds):
                yield event
    except (DatabaseUnavailable, StatementFailed) as error:
        # The browser reconnects and finds everything in the tables.
        LOG.warning("a webchat stream ended: %s", error)


async def _changes(
    view: View, subscription: Subscription, items: Items, state: dict[str, object], beat_seconds: float
) -> AsyncIterator[bytes]:
    known = {item.key: item.version for item in items.items}
    while not subscription.ended:
        if not await subscription.batch(seconds_max=beat_seconds):
            yield _event("beat", {}, subscription.position)
            continue
        items, new_state = await view.now()
        changed = tuple(item for item in items.items if known.get(item.key, 0) < item.version)
        if known and known.keys().isdisjoint(item.key for item in items.items):
            # More came at once than one page holds: the browser must not join what a gap separates.
            yield _event("snapshot", items.as_json(), subscription.position)
        elif changed:
            increment = Items(items=changed, has_earlier=items.has_earlier)
            yield _event("items", increment.as_json(), subscription.position)
        known = {item.key: max(item.version, known.get(item.key, 0)) for item in items.items}
        if new_state != state:
            state = new_state
            yield _event("state", state, subscription.position)


def _event(name: str, data: dict[str, object], position: Position) -> bytes:
    body = msgspec.json.encode(data)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (str(position).encode(), name.encode(), body)
