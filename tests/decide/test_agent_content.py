"""What an HTTP agent may answer besides text."""

from __future__ import annotations

import base64
import json
from uuid import UUID

import pytest

from onevoice.adapters.agents.protocol import decode_proposal
from onevoice.errors import AgentError
from onevoice.vocabulary import (
    Button,
    MediaId,
    MediaKind,
    Menu,
    MenuRow,
    MenuSection,
    OutgoingMedia,
    OutgoingMessage,
    Reaction,
    Template,
)

ID = "0198c0de-0000-7000-8000-000000000007"
MEDIA = MediaId(UUID(ID))


def decode(entry: object) -> OutgoingMessage:
    [message] = decode_proposal(json.dumps({"messages": [entry]}).encode()).messages
    return message


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"type": "text", "text": "oi"}, OutgoingMessage(text="oi")),
        (
            {"type": "image", "media": ID, "text": "o mapa"},
            OutgoingMessage(text="o mapa", media=OutgoingMedia(id=MEDIA, kind=MediaKind.IMAGE)),
        ),
        (
            {"media": ID, "filename": "nota.pdf"},
            OutgoingMessage(media=OutgoingMedia(id=MEDIA, filename="nota.pdf")),
        ),
        (
            {
                "type": "audio",
                "data": base64.b64encode(b"OggS").decode(),
                "filename": "voz.ogg",
                "mime_type": "audio/ogg",
            },
            OutgoingMessage(
                media=OutgoingMedia(
                    content=b"OggS", kind=MediaKind.AUDIO, filename="voz.ogg", mime_type="audio/ogg"
                )
            ),
        ),
        (
            {"text": "Confirma?", "buttons": [{"id": "yes", "title": "Sim"}]},
            OutgoingMessage(text="Confirma?", buttons=(Button(id="yes", title="Sim"),)),
        ),
        (
            {
                "text": "Escolha",
                "menu": {
                    "button": "Ver",
                    "sections": [
                        {"title": "Quinta", "rows": [{"id": "3", "title": "10h", "description": "centro"}]}
                    ],
                },
            },
            OutgoingMessage(
                text="Escolha",
                menu=Menu(
                    button="Ver",
                    sections=(
                        MenuSection(
                            title="Quinta", rows=(MenuRow(id="3", title="10h", description="centro"),)
                        ),
                    ),
                ),
            ),
        ),
        (
            {"reaction": {"message": ID, "emoji": "👍"}},
            OutgoingMessage(reaction=Reaction(message=ID, emoji="👍")),
        ),
        ({"reaction": {"message": ID}}, OutgoingMessage(reaction=Reaction(message=ID, emoji=""))),
        (
            {"template": {"name": "t", "language": "pt_BR", "components": [{"type": "body"}]}},
            OutgoingMessage(template=Template(name="t", language="pt_BR", components=({"type": "body"},))),
        ),
    ],
)
def test_an_entry_becomes_a_message(entry: object, expected: OutgoingMessage) -> None:
    """Each content has its keys; the text is its caption or stands above it."""
    assert decode(entry) == expected


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "sticker", "media": ID},
        {"type": "poem", "text": "oi"},
        {"type": "image"},
        {"type": "image", "text": "oi"},
        {"type": "image", "media": "7"},
        {"type": "image", "media": 7},
        {"type": "image", "data": 7},
        {"type": "image", "data": "não é base64"},
        {"text": "?", "buttons": {"id": "a"}},
        {"text": "?", "buttons": ["a"]},
        {"text": "?", "buttons": [{"id": "a"}]},
        {"text": "?", "buttons": [{"id": "a", "title": "a"}] * 31},
        {"text": "?", "menu": []},
        {"text": "?", "menu": {"sections": []}},
        {"text": "?", "menu": {"button": "Ver", "sections": [[]]}},
        {"text": "?", "menu": {"button": "Ver", "sections": [{"rows": [{"title": "10h"}]}]}},
        {"template": {"name": "t"}},
        {"template": {"name": "t", "language": "pt", "components": [7]}},
        {"reaction": {"emoji": "👍"}},
        {"reaction": "👍"},
    ],
)
def test_what_the_protocol_does_not_know_is_a_bad_answer(entry: object) -> None:
    """The agent is asked again, and its log says what was wrong."""
    with pytest.raises(AgentError) as failure:
        decode(entry)

    assert failure.value.reason == "agent_bad_answer"
    assert failure.value.retry
