"""What becomes of a file and of an audio's words after each try, and what a file's first bytes say it is."""

from __future__ import annotations

import pytest

from onevoice.errors import MediaUnavailable, TranscriptionFailed
from onevoice.flow.inbound.decide import Amendment
from onevoice.flow.media import decide as media
from onevoice.flow.media.sniff import sniff_type
from onevoice.flow.transcription import decide as transcription
from onevoice.ports.transcriber import Transcript
from onevoice.vocabulary import InboundState, MediaKind, MediaState, TranscriptionState

MEASURED = media.Measured(mime_type="image/jpeg", size_bytes=9, sha256=b"")
AWAY = MediaUnavailable("away")
GONE = MediaUnavailable("gone", retry=False)
WAITING, FAILED = TranscriptionState.WAITING, TranscriptionState.FAILED

OGG = b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead\x01\x01" + bytes(50)
MP4 = b"\0\0\0\x20ftypisom\0\0\0\x00isomiso2avc1mp41" + bytes(50)


@pytest.mark.parametrize(
    ("outcome", "tries", "words", "state", "frees", "words_after"),
    [
        (MEASURED, 1, None, MediaState.STORED, True, None),
        (MEASURED, 1, WAITING, MediaState.STORED, False, WAITING),
        (GONE, 1, None, MediaState.FAILED, True, None),
        (GONE, 1, WAITING, MediaState.FAILED, True, FAILED),
        (AWAY, 1, None, MediaState.WAITING, True, None),
        (AWAY, 1, WAITING, MediaState.WAITING, False, WAITING),
        (AWAY, media.TRIES_MAX - 1, WAITING, MediaState.WAITING, False, WAITING),
        (AWAY, media.TRIES_MAX, WAITING, MediaState.FAILED, True, FAILED),
    ],
)
def test_a_try_of_a_download(
    outcome: media.Measured | MediaUnavailable,
    tries: int,
    words: TranscriptionState | None,
    state: MediaState,
    frees: bool,
    words_after: TranscriptionState | None,
) -> None:
    """Only what may come later is tried again, and a turn waits for the first try or for an audio's words."""
    after = media.decide_after(outcome, try_count=tries, transcription=words, jitter=0.5)

    assert (after.state, after.frees_turn, after.transcription) == (state, frees, words_after)
    assert (after.retry_in_seconds is not None) is (state is MediaState.WAITING)


def test_waits_between_downloads_grow_and_are_bounded() -> None:
    """A provider's wait is never cut short, and whoever mends a token or a disk has a night's time for it."""
    waits = [
        media.decide_after(AWAY, try_count=tries, transcription=None, jitter=1.0).retry_in_seconds
        for tries in range(1, media.TRIES_MAX)
    ]
    asked = media.decide_after(
        MediaUnavailable("slow", retry_after_seconds=7.0), try_count=1, transcription=None, jitter=1.0
    )

    assert waits[:4] == [2.0, 4.0, 8.0, 16.0]
    assert waits[10:] == [2048.0, *[3600.0] * (media.TRIES_MAX - 12)]
    assert asked.retry_in_seconds == 7.0


def test_a_file_is_asked_for_half_a_day_long() -> None:
    """Also where the channel says how soon to ask again: the platform keeps it for a week."""
    refused = MediaUnavailable("token_refused", retry_after_seconds=300.0)
    for fault in (AWAY, refused):
        waits = [
            media.decide_after(fault, try_count=tries, transcription=None, jitter=0.75).retry_in_seconds or 0
            for tries in range(1, media.TRIES_MAX)
        ]
        assert sum(waits) > 12 * 3600


@pytest.mark.parametrize(
    ("outcome", "tries", "state", "text"),
    [
        (Transcript(text=" pra sexta "), 1, TranscriptionState.DONE, "pra sexta"),
        (Transcript(text="a\x00b"), 1, TranscriptionState.DONE, "ab"),
        (Transcript(text=" \n"), 1, TranscriptionState.SILENT, None),
        (TranscriptionFailed("busy"), 1, TranscriptionState.WAITING, None),
        (TranscriptionFailed("busy"), transcription.TRIES_MAX, TranscriptionState.FAILED, None),
        (TranscriptionFailed("bad_audio", retry=False), 1, TranscriptionState.FAILED, None),
    ],
)
def test_a_try_of_a_transcription(
    outcome: Transcript | TranscriptionFailed, tries: int, state: TranscriptionState, text: str | None
) -> None:
    """Silence is no failure, and a failure that a retry may mend is none yet."""
    after = transcription.decide_after(outcome, try_count=tries, jitter=0.5)

    assert (after.state, after.text) == (state, text)
    assert (after.retry_in_seconds is not None) is (state is TranscriptionState.WAITING)


@pytest.mark.parametrize(
    ("state", "amendment", "counts"),
    [
        (InboundState.OPEN, Amendment.APPLY, False),
        (InboundState.CLAIMED, Amendment.APPLY, True),
        (InboundState.ANSWERED, Amendment.SUPERSEDE, True),
        (InboundState.ANSWERED, Amendment.HISTORY, False),
    ],
)
def test_words_are_news_only_to_who_worked_without_them(
    state: InboundState,
    amendment: Amendment,
    counts: bool,
) -> None:
    """In time they complete a message; late ones amend it."""
    assert transcription.counts_as_arrival(state, amendment) is counts


@pytest.mark.parametrize(
    ("head", "kind", "filename", "expected"),
    [
        (OGG, MediaKind.AUDIO, None, "audio/ogg"),
        (b"ID3\x04" + bytes(6) + b"\xff\xfb\x90\x64" + bytes(80), MediaKind.AUDIO, None, "audio/mpeg"),
        (b"\xff\xf3\xe4\xc4" + bytes(80), MediaKind.AUDIO, None, "audio/mpeg"),
        (b"\xff\xf3\xe4\xc4" + bytes(80), MediaKind.DOCUMENT, None, "audio/mpeg"),
        (b"\xff\xf3\xf4\xc4" + bytes(80), MediaKind.DOCUMENT, None, "application/octet-stream"),
        (b"RIFF\x24\0\0\0WAVEfmt " + bytes(50), MediaKind.AUDIO, None, "audio/wav"),
        (MP4, MediaKind.DOCUMENT, "Voz 001.m4a", "audio/mp4"),
        (MP4, MediaKind.DOCUMENT, "a.mp4", "video/mp4"),
        (b"#!AMR\n<" + bytes(40), MediaKind.AUDIO, None, "audio/amr"),
        (b"\0\0\0\x20ftypM4A \0\0\0\x00M4A mp42isom" + bytes(50), MediaKind.AUDIO, None, "audio/mp4"),
        (MP4, MediaKind.AUDIO, None, "video/mp4"),
        (MP4, MediaKind.VIDEO, None, "video/mp4"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(50), MediaKind.IMAGE, None, "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), MediaKind.IMAGE, None, "image/png"),
        (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(50), MediaKind.STICKER, None, "image/webp"),
        (b"%PDF-1.7\n" + b"x" * 50, MediaKind.DOCUMENT, None, "application/pdf"),
        (b"PK\x03\x04" + bytes(60), MediaKind.DOCUMENT, "Tabela.XLSX",
         "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("olá mundo".encode() * 9, MediaKind.DOCUMENT, "a.txt", "text/plain"),
        ("olá".encode()[:-1], MediaKind.DOCUMENT, None, "text/plain"),
        (bytes(range(200, 250)), MediaKind.DOCUMENT, None, "application/octet-stream"),
        (bytes(range(200, 250)), MediaKind.AUDIO, None, "application/octet-stream"),
        (b"<!DOCTYPE html><html><body>" + b"x" * 50, MediaKind.IMAGE, None, None),
        (b"%PDF-1.7\n" + b"x" * 50, MediaKind.AUDIO, None, None),
        (OGG, MediaKind.IMAGE, None, None),
    ],
)  # fmt: skip
def test_the_bytes_say_what_a_file_is(
    head: bytes, kind: MediaKind, filename: str | None, expected: str | None
) -> None:
    """``None``: it is not the kind of file it came as."""
    assert sniff_type(head, kind, filename=filename) == expected
