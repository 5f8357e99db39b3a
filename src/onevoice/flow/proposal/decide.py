"""What the agent is given: the burst as one user turn and what the customer actually saw before it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from onevoice.flow.conversation.decide import Row
from onevoice.flow.media.decide import media_path
from onevoice.vocabulary import (
    BurstMessage,
    EffectState,
    HistoryItem,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    MessageId,
    OutboundState,
    UntoldEffect,
)

ROLE_OF_AUTHOR = {"ai": "assistant", "operator": "operator", "device": "operator", "customer": "customer"}

STRETCH_MARKS = {
    "HUMAN_ACTIVE": "[a human operator answers from here on]",
    "AI_ACTIVE": "[the conversation is with the assistant again]",
}


# What cannot be had is a marked part of the burst, never a silence.
NOT_TRANSCRIBED: Final = "[audio not transcribed]"
NO_SPEECH: Final = "[nobody speaks in this audio]"
STILL_COMING: Final = "[the file has not arrived yet]"
NOT_AVAILABLE: Final = "[the file could not be downloaded]"

# What every provider takes; a request with any other image is refused as a whole (read 2026-11).
SHOWN_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
SHOWN_BYTES_MAX: Final = 3_750_000
"""Of one image: in base64 it is a third longer, and 5 MB are the least that a provider takes."""


def describe_burst(
    rows: Sequence[Row], *, link: Callable[[MediaId], str] = media_path
) -> tuple[BurstMessage, ...]:
    """One part per message; ``link`` says where a stored file is fetched."""
    return tuple(_describe_message(row, _describe_media(row, link)) for row in rows)


def _describe_message(row: Row, media: Media | None) -> BurstMessage:
    words = row["transcription"]
    text = row["text"]
    if words is None and media is not None:
        mark = _missing(media, row["transcription_state"])
        text = " ".join(part for part in (text, mark) if part)
    return BurstMessage(
        id=MessageId(row["id"]),
        type=row["type"],
        # A transcription says it all; the description stands in while there is none.
        text=None if words is not None else text,
        transcription=words,
        at=row["at"],
        media=media,
    )


def _describe_media(row: Row, link: Callable[[MediaId], str]) -> Media | None:
    if row["media_id"] is None:
        return None
    id_ = MediaId(row["media_id"])
    state = MediaState(row["media_state"])
    return Media(
        id=id_,
        kind=MediaKind(row["kind"]),
        state=state,
        reason=row["media_reason"],
        mime_type=row["mime_type"],
        filename=row["filename"],
        size_bytes=row["size_bytes"],
        url=link(id_) if state is MediaState.STORED else None,
    )


def _missing(media: Media, transcription_state: str | None) -> str | None:
    """What the agent must know it lacks of a message with a file."""
    if media.kind is MediaKind.AUDIO:
        return NO_SPEECH if transcription_state == "silent" else NOT_TRANSCRIBED
    match media.state:
        case MediaState.STORED:
            return None
        case MediaState.WAITING:
            return STILL_COMING
        case MediaState.FAILED:
            return NOT_AVAILABLE


def choose_images(messages: Sequence[BurstMessage], *, bytes_max: int) -> list[MediaId]:
    """The stored images that providers take and that fit into one turn, the latest first served."""
    chosen: list[MediaId] = []
    for message in reversed(messages):
        media = message.media
        if media is None or not _is_shown(media) or media.size_bytes is None:
            continue
        if media.size_bytes <= min(bytes_max, SHOWN_BYTES_MAX):
            bytes_max -= media.size_bytes
            chosen.append(media.id)
    return chosen


def _is_shown(media: Media) -> bool:
    is_image = media.kind in (MediaKind.IMAGE, MediaKind.STICKER)
    return is_image and media.state is MediaState.STORED and media.mime_type in SHOWN_TYPES


def show_image(message: BurstMessage, images: Mapping[MediaId, bytes]) -> BurstMessage:
    """The message with the bytes of its image, where they are among ``images``."""
    if message.media is None or message.media.id not in images:
        return message
    return replace(message, media=replace(message.media, content=images[message.media.id]))


def describe_history(rows: Sequence[Row]) -> tuple[HistoryItem, ...]:
    """Oldest first. Uncertain messages are marked so, and a released reply that has not left as on its way."""
    return tuple(_describe(row) for row in reversed(rows))


def _describe(row: Row) -> HistoryItem:
    if row["author"] == "system" and row["text"] in STRETCH_MARKS:
        return HistoryItem(role="system", text=STRETCH_MARKS[row["text"]], at=row["at"])
    return HistoryItem(
        role=ROLE_OF_AUTHOR.get(row["author"], "assistant"),
        text=row["text"] or "",
        at=row["at"],
        state=_mark(row["state"]),
    )


def describe_untold(rows: Sequence[Mapping[str, Any]] | None) -> tuple[UntoldEffect, ...]:
    """What earlier, unfinished attempts did and the customer does not know, oldest first."""
    return tuple(
        UntoldEffect(
            tool=row["tool"], args=row["args"], state=EffectState(row["state"]), result=row["result"]
        )
        for row in rows or ()
    )


def _mark(state: str | None) -> str | None:
    match state:
        case OutboundState.UNCERTAIN:
            return "uncertain"
        case OutboundState.DUE | OutboundState.SENDING:
            return "on_its_way"
        case _:
            return None
