"""What a message may consist of, and the simpler message that says the same where a channel carries less. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from onevoice.errors import MessageUnsendable
from onevoice.ports.channel import Part
from onevoice.vocabulary import Media, MediaKind, Menu, OutgoingMedia, OutgoingMessage

FILE_BYTES_MAX = 100 * 2**20
KINDS_OF_TYPE = ((MediaKind.IMAGE, "image/"), (MediaKind.VIDEO, "video/"), (MediaKind.AUDIO, "audio/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A message whose file is in the store and whose reaction names the channel's own id."""

    message: OutgoingMessage
    file: Media | None = None


def check_content(message: OutgoingMessage) -> None:
    """Raise ``MessageUnsendable`` for a message that is two things at once."""
    given = [name for name in ("media", "buttons", "menu", "template", "reaction") if getattr(message, name)]
    if len(given) > 1:
        raise MessageUnsendable(
            "content_ambiguous",
            f"a message has one content, and this has {' and '.join(given)}; send one after the other",
        )
    if given and given[0] in ("template", "reaction") and message.text.strip():
        raise MessageUnsendable(
            "content_ambiguous", f"a {given[0]} has no text; send it as a message of its own"
        )
    if message.media is not None:
        _check_media(message.media)


def _check_media(media: OutgoingMedia) -> None:
    if (media.id is None) == (media.content is None):
        raise MessageUnsendable(
            "content_ambiguous", "a file is named by its id or given by its bytes; give one"
        )


def compose_leniently(
    compose: Callable[[OutgoingMessage, Media | None], Sequence[Part]], prepared: Prepared
) -> Sequence[Part]:
    """An agent's message as the channel carries it; what it cannot carry goes in a simpler form that loses nothing."""
    try:
        return compose(prepared.message, prepared.file)
    except MessageUnsendable:
        simpler = simplify(prepared.message)
        if simpler is None:
            raise
        return compose(simpler, prepared.file)


def simplify(message: OutgoingMessage) -> OutgoingMessage | None:
    """A file as whatever the channel takes it for, choices as numbered lines; ``None``: there is nothing simpler."""
    if message.media is not None and message.media.kind is not None:
        return replace(message, media=replace(message.media, kind=None))
    if message.buttons:
        lines = [button.title for button in message.buttons]
        return OutgoingMessage(text=_with_lines(message.text, _numbered(lines, 1)))
    if message.menu is not None:
        return OutgoingMessage(text=_with_lines(message.text, _menu_lines(message.menu)))
    return None


def _menu_lines(menu: Menu) -> list[str]:
    lines: list[str] = []
    number = 1
    for section in menu.sections:
        if section.title:
            lines.append(section.title)
        titles = [
            f"{row.title} – {row.description}" if row.description else row.title for row in section.rows
        ]
        lines += _numbered(titles, number)
        number += len(titles)
    return lines


def _numbered(titles: Sequence[str], first: int) -> list[str]:
    return [f"{number}. {title}" for number, title in enumerate(titles, start=first)]


def _with_lines(text: str, lines: Sequence[str]) -> str:
    return "\n\n".join(part for part in (text.strip(), "\n".join(lines)) if part)


def choose_kind(mime_type: str) -> MediaKind:
    """What a file of this type is to the people who send it."""
    return next((kind for kind, major in KINDS_OF_TYPE if mime_type.startswith(major)), MediaKind.DOCUMENT)
