"""What a try to download a file makes of it, and of the turn that waits for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from onevoice.errors import MediaUnavailable
from onevoice.vocabulary import AccountId, MediaId, MediaState, TranscriptionState

LEASE_SECONDS = 15.0
"""A download whose process is gone is another's after so long; a running one is renewed every third of it."""
FETCH_SECONDS_MAX = 600.0
"""For one try as a whole: a host that gives a byte now and then keeps no place for ever."""
RETRY_SECONDS_FIRST = 2.0
RETRY_SECONDS_MAX = 3600.0
# In all more than half a day: the ids hold for a week, and a token, a disk or a platform is mended in the morning.
# Seldom in the end, because about twenty failures an hour may block a number's downloads (wire format 1.12).
TRIES_MAX = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A file that is in the store, as its bytes are."""

    mime_type: str
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What a try makes of a file. ``frees_turn``: nothing of it is worth waiting for any more."""

    state: MediaState
    frees_turn: bool
    reason: str | None = None
    retry_in_seconds: float | None = None
    transcription: TranscriptionState | None = None


def media_key(account: AccountId, media: MediaId) -> str:
    """Where a file lies in the media store."""
    return f"{account}/{media}"


def media_path(media: MediaId) -> str:
    """Where the API serves a file to whoever has a token."""
    return f"/api/v1/media/{media}"


def decide_after(
    outcome: Measured | MediaUnavailable,
    *,
    try_count: int,
    transcription: TranscriptionState | None,
    jitter: float,
) -> After:
    """The outcome of one try, the ``try_count``-th. ``jitter`` is in [0.5, 1.0).

    A turn waits for the first try, because a file is there in a moment or not soon; for an audio whose words are
    wanted it waits on, up to its deadline.
    """
    if isinstance(outcome, Measured):
        waits_for_words = transcription is TranscriptionState.WAITING
        return After(state=MediaState.STORED, frees_turn=not waits_for_words, transcription=transcription)
    if not outcome.retry or try_count >= TRIES_MAX:
        ended = None if transcription is None else TranscriptionState.FAILED
        return After(state=MediaState.FAILED, frees_turn=True, reason=outcome.reason, transcription=ended)
    own = min(RETRY_SECONDS_MAX, RETRY_SECONDS_FIRST * 2 ** (try_count - 1)) * jitter
    wait = max(own, outcome.retry_after_seconds or 0.0)
    return After(
        state=MediaState.WAITING,
        frees_turn=transcription is None,
        reason=outcome.reason,
        retry_in_seconds=wait,
        transcription=transcription,
    )
