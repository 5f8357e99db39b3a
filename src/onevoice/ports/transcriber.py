"""What turns a voice message into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A whole voice message; its size is bounded by ``Transcriber.bytes_max``.

    ``mime_type`` is of the bytes, not of their sender. ``filename`` has the extension that belongs to it.
    ``seconds`` is how long it plays, where that could be read.
    """

    content: bytes
    mime_type: str
    filename: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said; blank when nobody speaks. ``usage`` is the provider's own count, such as seconds or tokens."""

    text: str
    model: str | None = None
    usage: dict[str, object] | None = None


class Transcriber(Protocol):
    """One provider or function. It bounds nothing itself: the caller cancels what takes too long."""

    name: str
    bytes_max: int
    """The largest audio it takes; a larger one is not sent."""

    async def transcribe(self, audio: Audio) -> Transcript:
        """One try; raises ``errors.TranscriptionFailed``."""
        ...

    async def close(self) -> None: ...
