"""What becomes of an audio whose words are wanted, and of the work that had to do without them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onevoice.errors import TranscriptionFailed
from onevoice.flow.inbound.decide import Amendment
from onevoice.ports.transcriber import Transcript
from onevoice.vocabulary import InboundState, TranscriptionState

LEASE_SECONDS: Final = 15.0
RETRY_SECONDS_FIRST: Final = 1.0
RETRY_SECONDS_MAX: Final = 60.0
TRIES_MAX: Final = 8

# What providers know a format by: the extension, not the type (wire format 6.2).
_EXTENSIONS: Final = {
    "audio/aac": ".aac",
    "audio/amr": ".amr",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/wave": ".wav",
    "audio/webm": ".webm",
    "audio/x-wav": ".wav",
    "video/3gpp": ".3gp",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What a try makes of an audio's words; ``retry_in_seconds`` is set while it stays ``waiting``."""

    state: TranscriptionState
    text: str | None = None
    reason: str | None = None
    retry_in_seconds: float | None = None


def decide_after(outcome: Transcript | TranscriptionFailed, *, try_count: int, jitter: float) -> After:
    """The outcome of the ``try_count``-th try. ``jitter`` is in [0.5, 1.0)."""
    if isinstance(outcome, Transcript):
        text = outcome.text.replace("\x00", "").strip()
        return After(state=TranscriptionState.DONE if text else TranscriptionState.SILENT, text=text or None)
    if not outcome.retry or try_count >= TRIES_MAX:
        return After(state=TranscriptionState.FAILED, reason=outcome.reason)
    wait = outcome.retry_after_seconds
    if wait is None:
        wait = min(RETRY_SECONDS_MAX, RETRY_SECONDS_FIRST * 2 ** (try_count - 1)) * jitter
    return After(state=TranscriptionState.WAITING, reason=outcome.reason, retry_in_seconds=wait)


def counts_as_arrival(state: InboundState, amendment: Amendment) -> bool:
    """Words that come late amend a message as an edit would; nobody has read an open one without them."""
    return amendment is Amendment.SUPERSEDE or (
        amendment is Amendment.APPLY and state is InboundState.CLAIMED
    )


def name_audio(mime_type: str) -> str:
    """A file name whose extension tells the format."""
    # What nobody recognises is most likely what WhatsApp's voice messages are.
    return f"audio{_EXTENSIONS.get(mime_type, '.ogg')}"
