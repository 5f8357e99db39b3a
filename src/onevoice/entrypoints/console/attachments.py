"""A file of a message as it is shown: a picture, a player or a link, how it stands, and an audio's words. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.words import FILES, word_of
from onevoice.entrypoints.http.api.content import InboundMedia, MediaFile
from onevoice.entrypoints.http.api.schemas import InboundItem
from onevoice.entrypoints.http.webchat.texts import Language
from onevoice.vocabulary import MediaKind, MediaState, TranscriptionState

__all__ = ["Attachment", "Said", "attachment_of", "caption_of", "said_of", "summary_of"]

# What every browser draws, and what none plays; anything else is a link to keep the file by.
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_UNPLAYED = frozenset({"audio/amr", "video/3gpp", "video/3gpp2", "video/quicktime", "video/x-msvideo"})
# What the descriptions of a message call its file.
_KINDS = (*(kind.value for kind in MediaKind), "file")
_MARKS = ("[voice message]", *(f"[{kind}]" for kind in _KINDS))
_NAMED = re.compile(r"\[document: ([^\]]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """``shape`` is ``picture``, ``player``, ``film`` or ``link`` for a file that is there, else ``absent``.

    ``name`` says what it is, ``detail`` its type, size and length, ``state`` how it stands when it is absent.
    """

    id: UUID
    shape: str
    name: str
    detail: str
    state: str = ""
    tone: str = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An audio's ``words``, or the ``state`` that stands for them."""

    words: str = ""
    state: str = ""
    tone: str = "quiet"


def attachment_of(
    media: InboundMedia | MediaFile, language: Language, *, is_voice: bool = False
) -> Attachment:
    """How a file is shown. One that was sent is always there."""
    texts = TEXTS[language]
    kind = texts["file_voice" if is_voice else f"file_{media.kind.value}"]
    shape, state, tone = _shape_of(media), "", "quiet"
    details = [_shown_type(media), _shown_size(media.size_bytes, language)] if shape == "link" else []
    if isinstance(media, InboundMedia):
        details.append(_shown_length(media.seconds))
        if media.state is MediaState.WAITING:
            shape, state, tone = "absent", texts["file_waiting"], "wait"
        elif media.state is MediaState.FAILED:
            reason = word_of(FILES, media.reason, language)
            shape, state, tone = "absent", texts["file_failed"].format(reason=reason), "bad"
    return Attachment(
        id=media.id,
        shape=shape,
        name=media.filename or kind,
        detail=" · ".join(filter(None, [kind if media.filename else "", *details])),
        state=state,
        tone=tone,
    )


def said_of(item: InboundItem, language: Language) -> Said | None:
    """What became of an audio's words; ``None`` for what has none to have."""
    texts = TEXTS[language]
    if item.transcription:
        return Said(words=item.transcription)
    if item.media is None or item.media.kind is not MediaKind.AUDIO:
        return None
    match item.transcription_state:
        case TranscriptionState.WAITING:
            return Said(state=texts["transcribing"], tone="wait")
        case TranscriptionState.SILENT:
            return Said(state=texts["no_speech"])
        case TranscriptionState.FAILED:
            reason = word_of(FILES, item.transcription_reason, language)
            return Said(state=texts["not_transcribed_because"].format(reason=reason), tone="bad")
        case TranscriptionState.DONE | None:
            return Said(state=texts["not_transcribed"])


def caption_of(text: str | None, media: InboundMedia | MediaFile | None) -> str:
    """What was written below a file: the description without the file's own mark."""
    return _without_mark(text or "", media.filename if media else None)


def summary_of(text: str, type_: str, language: Language) -> str:
    """A message in one line of the list: what a file is, and its caption or name; any other text as it is."""
    what = TEXTS[language].get("file_voice" if text.startswith("[voice message]") else f"file_{type_}")
    if what is None:
        return text
    named = _NAMED.match(text)
    name = named[1] if named else None
    return ": ".join(filter(None, (what, _without_mark(text, name) or name)))


def _without_mark(text: str, filename: str | None) -> str:
    marks = (*(f"[{kind}: {filename}]" for kind in _KINDS), *_MARKS) if filename else _MARKS
    found = next((mark for mark in marks if mark in text), None)
    return text if found is None else text.replace(found, "", 1).strip()


def _shape_of(media: InboundMedia | MediaFile) -> str:
    kind, mime_type = media.kind, media.mime_type or ""
    if kind in (MediaKind.IMAGE, MediaKind.STICKER) and mime_type in _PICTURES:
        return "picture"
    # An audio alone in a container of videos has the container's type.
    is_played = mime_type.startswith(("audio/", "video/")) and mime_type not in _UNPLAYED
    if not is_played or kind not in (MediaKind.AUDIO, MediaKind.VIDEO):
        return "link"
    return "player" if kind is MediaKind.AUDIO else "film"


def _shown_type(media: InboundMedia | MediaFile) -> str:
    """PDF for application/pdf; nothing for a long official name."""
    if media.mime_type is None:
        return ""
    subtype = media.mime_type.partition("/")[2].removeprefix("x-")
    suffix = (media.filename or "").rpartition(".")[2] if "." in (media.filename or "") else ""
    word = suffix if suffix.isalnum() and len(suffix) <= 5 else subtype
    return "" if word == "octet-stream" or len(word) > 10 else word.upper()


def _shown_size(size_bytes: int | None, language: Language) -> str:
    if size_bytes is None:
        return ""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    if size_bytes < 1_000_000:
        return f"{round(size_bytes / 1000)} kB"
    shown = f"{size_bytes / 1_000_000:.1f} MB"
    return shown.replace(".", ",") if language == "pt" else shown


def _shown_length(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(max(1, round(seconds)), 60)
    return f"{minutes}:{rest:02d}"
