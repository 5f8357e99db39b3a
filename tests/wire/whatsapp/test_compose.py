"""What WhatsApp carries, checked before anything is sealed, and the exact bodies it becomes."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from onevoice.adapters.channels.whatsapp.body import message_body
from onevoice.adapters.channels.whatsapp.compose import compose, units
from onevoice.errors import MessageUnsendable
from onevoice.ports.channel import Delivery, Part
from onevoice.vocabulary import (
    Button,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    Menu,
    MenuRow,
    MenuSection,
    OutgoingMedia,
    OutgoingMessage,
    Reaction,
    Template,
)

ID = MediaId(UUID(int=7))
MIB = 2**20


def a_file(
    kind: MediaKind = MediaKind.IMAGE,
    mime_type: str = "image/jpeg",
    size_bytes: int = 1000,
    filename: str | None = None,
) -> Media:
    return Media(
        id=ID,
        kind=kind,
        state=MediaState.STORED,
        mime_type=mime_type,
        size_bytes=size_bytes,
        filename=filename,
    )


def with_file(text: str = "", **media: object) -> OutgoingMessage:
    return replace(
        OutgoingMessage(text=text, media=OutgoingMedia(id=ID)), media=OutgoingMedia(id=ID, **media)
    )  # type: ignore[arg-type]  # Fields by name.


def content(message: OutgoingMessage, file: Media | None = None) -> list[dict[str, object]]:
    """The part of each body that depends on the message."""
    parts = compose(message, file)
    common = ("messaging_product", "recipient_type", "to", "biz_opaque_callback_data")
    return [{key: value for key, value in body.items() if key not in common} for body in map(body_of, parts)]


def body_of(part: Part) -> dict[str, object]:
    return message_body(
        Delivery(
            address="5511999990000",
            text=part.text,
            correlation_id="out_1.1",
            deadline=1.0,
            key="turn.1",
            payload=part.payload,
            uploaded_as="910000000000001",
        )
    )


def buttons(count: int) -> tuple[Button, ...]:
    return tuple(Button(id=f"b{number}", title=f"Opção {number}") for number in range(count))


def menu(count: int, **row: str) -> Menu:
    rows = tuple(MenuRow(id=f"r{n}", title=row.get("title", f"{n}h")) for n in range(count))
    return Menu(button="Ver", sections=(MenuSection(rows=rows),))


BODIES = [
    (
        with_file("**foto**"),
        a_file(),
        {"type": "image", "image": {"id": "910000000000001", "caption": "*foto*"}},
    ),
    (
        with_file("sua nota", filename="nota.pdf"),
        a_file(MediaKind.DOCUMENT, "application/pdf"),
        {
            "type": "document",
            "document": {"id": "910000000000001", "filename": "nota.pdf", "caption": "sua nota"},
        },
    ),
    # A name is a name: nothing in it climbs, breaks a line or reads backwards.
    (
        with_file(filename="../x/nota\n\u202e1.pdf"),
        a_file(MediaKind.DOCUMENT, "application/pdf"),
        {"type": "document", "document": {"id": "910000000000001", "filename": "nota 1.pdf"}},
    ),
    (
        with_file(),
        a_file(MediaKind.AUDIO, "audio/ogg"),
        {"type": "audio", "audio": {"id": "910000000000001", "voice": True}},
    ),
    (
        with_file(),
        a_file(MediaKind.AUDIO, "audio/mpeg"),
        {"type": "audio", "audio": {"id": "910000000000001"}},
    ),
    (
        with_file("veja"),
        a_file(MediaKind.VIDEO, "video/mp4"),
        {"type": "video", "video": {"id": "910000000000001", "caption": "veja"}},
    ),
    (
        OutgoingMessage(reaction=Reaction(message="wamid.EXAMPLE.IN.0001", emoji="👍")),
        None,
        {"type": "reaction", "reaction": {"message_id": "wamid.EXAMPLE.IN.0001", "emoji": "👍"}},
    ),
    (
        OutgoingMessage(
            text="Confirma?", buttons=(Button(id="yes", title="Sim"), Button(id="no", title="Não"))
        ),
        None,
        {
            "type": "interactive",
            "interactive": {
                "type": "button",
                "body": {"text": "Confirma?"},
                "action": {
                    "buttons": [
                        {"type": "reply", "reply": {"id": "yes", "title": "Sim"}},
                        {"type": "reply", "reply": {"id": "no", "title": "Não"}},
                    ]
                },
            },
        },
    ),
    (
        OutgoingMessage(
            text="Escolha",
            menu=Menu(
                button="Ver",
                sections=(
                    MenuSection(
                        title="Quinta", rows=(MenuRow(id="slot:3", title="10h", description="centro"),)
                    ),
                ),
            ),
        ),
        None,
        {
            "type": "interactive",
            "interactive": {
                "type": "list",
                "body": {"text": "Escolha"},
                "action": {
                    "button": "Ver",
                    "sections": [
                        {
                            "title": "Quinta",
                            "rows": [{"id": "slot:3", "title": "10h", "description": "centro"}],
                        }
                    ],
                },
            },
        },
    ),
    (
        OutgoingMessage(
            template=Template(
                name="retomar_conversa",
                language="pt_BR",
                components=({"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},),
            )
        ),
        None,
        {
            "type": "template",
            "template": {
                "name": "retomar_conversa",
                "language": {"code": "pt_BR"},
                "components": [{"type": "body", "parameters": [{"type": "text", "text": "Ana"}]}],
            },
        },
    ),
]


@pytest.mark.parametrize(("message", "file", "expected"), BODIES)
def test_a_message_becomes_its_body(
    message: OutgoingMessage, file: Media | None, expected: dict[str, object]
) -> None:
    """As wire format 1.10 has them, with our correlation id beside."""
    assert content(message, file) == [expected]
    assert body_of(compose(message, file)[0])["biz_opaque_callback_data"] == "out_1.1"


@pytest.mark.parametrize(
    ("message", "file", "types", "texts"),
    [
        # An audio has no caption, and a caption has an end: both go on as text.
        (
            with_file("ouça"),
            a_file(MediaKind.AUDIO, "audio/ogg"),
            ["audio", None],
            ["[audio]", "ouça"],
        ),
        (with_file("a" * 1024), a_file(), ["image"], ["a" * 1024]),
        (with_file("a" * 1025), a_file(), ["image", None], ["[image]", "a" * 1025]),
        (with_file("😀" * 513), a_file(), ["image", None], ["[image]", "😀" * 513]),
        # What nobody asked to be a picture goes as a document when it cannot be one.
        (with_file(), a_file(mime_type="image/webp"), ["document"], ["[document]"]),
        (
            with_file(),
            a_file(size_bytes=5 * MIB + 1, filename="mapa.jpg"),
            ["document"],
            ["[document: mapa.jpg]"],
        ),
        (with_file(kind=MediaKind.DOCUMENT), a_file(), ["document"], ["[document]"]),
    ],
)
def test_what_overflows_harmlessly_is_carried_on(
    message: OutgoingMessage, file: Media, types: list[str | None], texts: list[str]
) -> None:
    """Nothing of it is lost, and the order stays."""
    parts = compose(message, file)

    assert [part.payload.get("type") for part in parts] == types
    assert [part.text for part in parts] == texts


@pytest.mark.parametrize(
    ("message", "file", "code"),
    [
        (with_file(kind=MediaKind.IMAGE), a_file(size_bytes=5 * MIB + 1), "file_too_large"),
        (with_file(kind=MediaKind.IMAGE), a_file(mime_type="image/gif"), "file_type_unsupported"),
        (
            with_file(kind=MediaKind.AUDIO),
            a_file(MediaKind.AUDIO, "audio/ogg", 16 * MIB + 1),
            "file_too_large",
        ),
        (with_file(kind=MediaKind.VIDEO), a_file(MediaKind.VIDEO, "video/webm"), "file_type_unsupported"),
        (with_file(), a_file(MediaKind.DOCUMENT, "application/zip", 100 * MIB + 1), "file_too_large"),
        (with_file(), a_file(MediaKind.VIDEO, "video/webm", 100 * MIB + 1), "file_too_large"),
        (with_file(kind=MediaKind.STICKER), a_file(), "not_supported"),
        (OutgoingMessage(text="?", buttons=buttons(4)), None, "too_many_buttons"),
        (OutgoingMessage(text=" ", buttons=buttons(2)), None, "text_missing"),
        (OutgoingMessage(text="a" * 1025, buttons=buttons(2)), None, "text_too_long"),
        (OutgoingMessage(text="?", buttons=(Button(id="b", title="t" * 21),)), None, "label_length"),
        (OutgoingMessage(text="?", buttons=(Button(id="b" * 257, title="t"),)), None, "label_length"),
        (OutgoingMessage(text="?", buttons=(Button(id="b", title=" "),)), None, "label_length"),
        (OutgoingMessage(text="?", buttons=(Button(id="b", title="1"),) * 2), None, "ids_repeated"),
        (
            OutgoingMessage(text="?", buttons=(Button(id="1", title="Sim"), Button(id="2", title="Sim "))),
            None,
            "titles_repeated",
        ),
        (OutgoingMessage(reaction=Reaction(message="wamid.1", emoji="ok")), None, "not_an_emoji"),
        (OutgoingMessage(reaction=Reaction(message="wamid.1", emoji="👍" * 17)), None, "not_an_emoji"),
        (OutgoingMessage(text="?", menu=menu(11)), None, "too_many_rows"),
        (OutgoingMessage(text="?", menu=menu(0)), None, "menu_empty"),
        (OutgoingMessage(text="?", menu=menu(1, title="t" * 25)), None, "label_length"),
        (
            OutgoingMessage(text="?", menu=Menu(button="Ver", sections=menu(1).sections * 2)),
            None,
            "ids_repeated",
        ),
        (OutgoingMessage(template=Template(name=" ", language="pt_BR")), None, "label_length"),
    ],
)
def test_what_cannot_be_carried_is_refused_with_its_limit(
    message: OutgoingMessage, file: Media | None, code: str
) -> None:
    """Before anything is sealed, with what to do instead."""
    with pytest.raises(MessageUnsendable) as refused:
        compose(message, file)

    assert refused.value.code == code
    assert str(refused.value)


@pytest.mark.parametrize(
    "message",
    [
        OutgoingMessage(text="a" * 1024, buttons=(*buttons(2), Button(id="x" * 256, title="t" * 20))),
        OutgoingMessage(text="a" * 4096, menu=menu(10, title="t" * 24)),
        *(
            OutgoingMessage(reaction=Reaction(message="wamid.1", emoji=emoji))
            for emoji in ("", "❤️", "🇧🇷", "👨‍👩‍👧", "👍🏽", "1️⃣", "ℹ️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿")
        ),
    ],
)
def test_the_limits_themselves_are_taken(message: OutgoingMessage) -> None:
    """Up to and including."""
    assert len(compose(message, None)) == 1


def test_characters_are_counted_as_the_api_may_count_them() -> None:
    """An emoji is two."""
    assert units("a😀") == 3
