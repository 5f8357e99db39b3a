"""What the chat page's routes need from the application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.http.limits import Slots, TokenBuckets
from onevoice.ports.channel import Channel, Item
from onevoice.ports.clock import Clock
from onevoice.ports.media_store import MediaStore
from onevoice.store.database import Database

__all__ = ["WebchatLimits", "WebchatPage", "WebchatServices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebchatPage:
    """One webchat channel and its page. ``color`` is ``#rrggbb``; an empty greeting is a standard one.

    ``allowed_origins`` are the sites that may show the page in a frame, as ``https://shop.example``.
    """

    channel: Channel
    title: str = "Chat"
    greeting: str = ""
    language: str = "auto"
    allowed_origins: tuple[str, ...] = ()
    color: str = "#1f6f63"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebchatServices:
    """``receive`` is the inbound step: it returns once the items are committed.

    ``secret`` signs visitors' cookies (``load_visitor_secret``). ``public_url`` is the address visitors use,
    when a proxy hides it. ``database`` may be open under the role ``onevoice_api``; the feed's may not.
    """

    database: Database
    feed: JournalFeed
    clock: Clock
    secret: bytes
    find_page: Callable[[str], WebchatPage | None]
    receive: Callable[[Channel, Sequence[Item]], Awaitable[object]]
    media: MediaStore
    public_url: str = ""


class WebchatLimits:
    """Limits before work, per process: by visitor, and by address where no visitor is known yet."""

    def __init__(self, clock: Clock) -> None:
        self.messages = TokenBuckets(clock, per_minute=20, burst=10)
        self.receipts = TokenBuckets(clock, per_minute=120, burst=60)
        self.reads = TokenBuckets(clock, per_minute=120, burst=60)
        self.new_visitors = TokenBuckets(clock, per_minute=20, burst=60)
        self.streams = Slots(per_key=5)
