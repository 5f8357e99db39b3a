"""Downloads and transcriptions of one process: each job is a leased row, so that a dead process loses none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from onevoice.flow.media.decide import LEASE_SECONDS
from onevoice.flow.media.perform import Download, claim_downloads, fetch, finish_download, renew_downloads
from onevoice.flow.runtime import Runtime
from onevoice.flow.transcription.perform import (
    Hearing,
    claim_transcriptions,
    finish_transcription,
    hear,
    renew_transcriptions,
)
from onevoice.vocabulary import MediaId

DOWNLOADS_MAX = 16
TRANSCRIPTIONS_MAX = 16
POLL_SECONDS = 2.0
RENEW_SECONDS = LEASE_SECONDS / 3

Spawn = Callable[[set[asyncio.Task[None]], Coroutine[Any, Any, None]], None]
UntilAvailable = Callable[[Callable[[], Awaitable[Any]]], Awaitable[None]]


class MediaJobs:
    """``look`` begins what is due, ``renew`` keeps what runs; ``spawn`` and ``until_available`` are the worker's."""

    def __init__(self, runtime: Runtime, *, spawn: Spawn, until_available: UntilAvailable) -> None:
        self._runtime = runtime
        self._spawn = spawn
        self._until_available = until_available
        self._downloads: dict[MediaId, Download] = {}
        self._hearings: dict[MediaId, Hearing] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def look(self) -> bool:
        """Begin what is due; ``True`` when more may be waiting."""
        free = DOWNLOADS_MAX - len(self._downloads)
        downloads = await claim_downloads(self._runtime, limit=free) if free > 0 else []
        for download in downloads:
            self._downloads[download.id] = download
            self._spawn(self._tasks, self._download(download))
        open_ = TRANSCRIPTIONS_MAX - len(self._hearings)
        hearings = await claim_transcriptions(self._runtime, limit=open_) if open_ > 0 else []
        for hearing in hearings:
            self._hearings[hearing.id] = hearing
            self._spawn(self._tasks, self._transcribe(hearing))
        return (0 < free == len(downloads)) or (0 < open_ == len(hearings))

    async def renew(self) -> bool:
        """Keep the leases of everything that runs here."""
        await self._lease(list(self._downloads.values()), list(self._hearings.values()), LEASE_SECONDS)
        return False

    async def stop(self) -> None:
        """Break off what runs and hand it to others at once; nothing of it is renewed afterwards."""
        downloads, hearings = list(self._downloads.values()), list(self._hearings.values())
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._until_available(lambda: self._lease(downloads, hearings, 0.0))

    async def _lease(
        self, downloads: Sequence[Download], hearings: Sequence[Hearing], seconds: float
    ) -> None:
        if downloads:
            await renew_downloads(self._runtime, downloads, seconds=seconds)
        if hearings:
            await renew_transcriptions(self._runtime, hearings, seconds=seconds)

    async def _download(self, download: Download) -> None:
        try:
            outcome = await fetch(self._runtime, download)
            await self._until_available(lambda: finish_download(self._runtime, download, outcome))
        finally:
            self._downloads.pop(download.id, None)

    async def _transcribe(self, hearing: Hearing) -> None:
        try:
            heard = await hear(self._runtime, hearing)
            await self._until_available(lambda: finish_transcription(self._runtime, hearing, heard))
        finally:
            self._hearings.pop(hearing.id, None)
