"""Follows a server's journal over its event stream: what was decided, when, and why."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import cast

import httpx2

from onevoice.entrypoints.simulate.stopwatch import seconds_of

Json = dict[str, object]

# Where the stream begins when nothing was read yet: the journal's first entry.
_FROM_THE_FIRST = "0-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One journal entry; ``at`` in seconds of wall time."""

    at: float
    kind: str
    conversation: str
    subject: str
    state: str
    reason: str
    data: Json = field(default_factory=dict[str, object])


class Journal:
    """Every entry so far, in commit order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._position = _FROM_THE_FIRST

    @contextlib.asynccontextmanager
    async def following(self, http: httpx2.AsyncClient, url: str, token: str) -> AsyncGenerator[None]:
        """Read along for as long as the block runs; a later block goes on where this one ended."""
        reading = asyncio.create_task(self._read(http, url, token), name="journal")
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.wait([reading])

    async def _read(self, http: httpx2.AsyncClient, url: str, token: str) -> None:
        headers = {"authorization": f"Bearer {token}", "last-event-id": self._position}
        # A server that is killed on purpose cuts its stream; the scenario goes on with the next one.
        with contextlib.suppress(httpx2.TransportError):
            async with http.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=None) as response:
                async for line in response.aiter_lines():
                    self._take(line)

    def _take(self, line: str) -> None:
        if line.startswith("id: "):
            self._position = line.removeprefix("id: ")
        elif line.startswith("data: "):
            self.events.append(_event(cast("Json", json.loads(line.removeprefix("data: ")))))


def _event(data: Json) -> Event:
    return Event(
        at=seconds_of(str(data["at"])),
        kind=str(data["kind"]),
        conversation=str(data["conversation"]),
        subject=str(data["subject"]),
        state=str(data["state"] or ""),
        reason=str(data["reason"] or ""),
        data=cast("Json", data["data"]),
    )
