"""A customer's files on the operator's screen: pictures, players, links, and what became of an audio's words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.console.attachments import caption_of
from onevoice.entrypoints.console.words import FILES
from onevoice.entrypoints.http.api.content import InboundMedia
from onevoice.entrypoints.operators import Operator
from onevoice.flow.media.decide import media_key
from onevoice.store.database import Database
from onevoice.testing import ManualClock
from onevoice.vocabulary import AccountId, MediaId
from tests.builders import Rows, new_id
from tests.console_client import Reader, text_of
from tests.console_site import ConsoleSite, console_site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    async with console_site(database, api_database, owner, clock=ManualClock()) as site:
        yield site


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


@pytest.fixture
async def reader(site: ConsoleSite, ana: Operator) -> AsyncIterator[Reader]:
    reader = await Reader.signed_in(site, "Ana Lima")
    yield reader
    await reader.close()


SHOWN: list[tuple[dict[str, object], dict[str, object], str]] = [
    # the message, its file, the words of the entry
    (
        {"text": "[voice message]", "transcription": "pra sexta"},
        {"seconds": 7.2, "transcription_state": "done"},
        "Voice message 0:07 Transcription pra sexta",
    ),
    ({"text": "[voice message]"}, {"transcription_state": "waiting"}, "Voice message transcribing…"),
    (
        {"text": "[audio]"},
        {"transcription_state": "silent", "seconds": 61.0},
        "Audio 1:01 nobody speaks in this audio",
    ),
    (
        {"text": "[voice message]"},
        {"transcription_state": "failed", "transcription_reason": "insufficient_quota"},
        "Voice message not transcribed: the service's account has run dry",
    ),
    ({"text": "[voice message]"}, {}, "Voice message not transcribed"),
    (
        {"text": "[audio]"},
        {"mime_type": "audio/amr", "size_bytes": 2400},
        "Audio AMR · 2 kB not transcribed",
    ),
    (
        {"text": "[voice message]"},
        {"state": "failed", "transcription_state": "failed", "transcription_reason": "no_file"},
        "Voice message could not be downloaded: the channel does not have it any more "
        "not transcribed: the file did not come",
    ),
    ({"text": "[image] olha"}, {"kind": "image", "mime_type": "image/png"}, "olha"),
    (
        {"text": "[image]"},
        {"kind": "image", "mime_type": "image/tiff", "size_bytes": 999},
        "Image TIFF · 999 B",
    ),
    (
        {"text": "[forwarded]\n[document: Nota [1].pdf] segue"},
        {"kind": "document", "mime_type": "application/pdf", "filename": "Nota [1].pdf", "size_bytes": 1_260_000},
        "Nota [1].pdf Document · PDF · 1.3 MB [forwarded]\n segue",
    ),
    ({"text": "[video]"}, {"kind": "video", "state": "waiting"}, "Video on its way…"),
    (
        {"text": "[video] veja"},
        {"kind": "video", "mime_type": "video/3gpp", "size_bytes": 3_000_000},
        "Video 3GPP · 3.0 MB veja",
    ),
    (
        {"text": "[document]"},
        {"kind": "document", "state": "failed", "reason": "a_reason_of_tomorrow"},
        "Document could not be downloaded: a reason of tomorrow",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("message", "file", "words"), SHOWN)
async def test_a_file_is_shown_as_it_stands(
    site: ConsoleSite, reader: Reader, message: dict[str, object], file: dict[str, object], words: str
) -> None:
    """What it is, whether it is there, and what was said in it; never the channel's own brackets."""
    conversation = await site.rows.conversation()
    inbound = await site.rows.inbound(conversation, type="audio", **message)  # type: ignore[arg-type]
    await site.rows.media(inbound, **file)  # type: ignore[arg-type]

    entry = text_of(await reader.thread(conversation), f"in-{inbound}")

    assert f" {' '.join(words.split())} " in f" {' '.join(entry.split())} "


async def test_a_picture_is_named_and_opens(site: ConsoleSite, reader: Reader) -> None:
    """Its text for those who do not see it is who sent what, with the words below it."""
    conversation = await site.rows.conversation(contact_name="Ana <b>")
    inbound = await site.rows.inbound(conversation, type="image", text='[image] "olha" <i>')
    media = await site.rows.media(inbound, kind="image", mime_type="image/png")

    page = (await reader.thread(conversation)).text

    assert f'href="/console/media/{media}" target="_blank" rel="noopener"' in page
    assert 'alt="Image from Ana &lt;b&gt;: &#34;olha&#34; &lt;i&gt;"' in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("kind", "mime_type", "element"),
    [
        ("audio", "audio/ogg", "<audio "),
        ("audio", "video/mp4", "<audio "),
        ("audio", "application/octet-stream", " download "),
        ("video", "video/mp4", "<video "),
        ("sticker", "image/webp", "<img "),
        ("document", "image/png", " download "),
        ("document", "text/html", " download "),
    ],
)
async def test_only_what_browsers_show_is_shown(
    site: ConsoleSite, reader: Reader, kind: str, mime_type: str, element: str
) -> None:
    """A document is kept, whatever it is; a player loads nothing before it is asked to."""
    conversation = await site.rows.conversation()
    inbound = await site.rows.inbound(conversation, type=kind, text=f"[{kind}]")
    media = await site.rows.media(inbound, kind=kind, mime_type=mime_type)

    page = (await reader.thread(conversation)).text

    shown = [found for found in ("<audio ", "<video ", "<img ", " download ") if found in page]
    assert shown == [element]
    assert f"/console/media/{media}" in page
    assert ('preload="none"' in page) is (element in ("<audio ", "<video "))


async def test_the_list_says_what_came_last(site: ConsoleSite, reader: Reader) -> None:
    """The words of an audio, what another file is, and its name or caption."""
    for contact, type_, text, words in (
        ("A", "audio", "[voice message]", "pra sexta"),
        ("B", "audio", "[voice message]", None),
        ("C", "image", "[image] olha", None),
        ("D", "document", "[document: nota.pdf]", None),
        ("E", "document", "[document: nota.pdf] segue", None),
    ):
        conversation = await site.rows.conversation(contact_address=contact)
        await site.rows.inbound(conversation, type=type_, text=text, transcription=words)

    page = (await reader.desk(tab="all")).text

    for shown in ("pra sexta", "Voice message", "Image: olha", "Document: nota.pdf", "Document: segue"):
        assert f'<span class="preview" dir="auto">{shown}</span>' in page


class TestTheBytes:
    async def test_a_file_is_served_whole_and_in_parts(self, site: ConsoleSite, reader: Reader) -> None:
        """A player asks for ranges; nothing of it may run in the console's page."""
        media = await _stored(site, site.rows, PNG)

        whole = await reader.client.get(f"/console/media/{media}")
        part = await reader.client.get(f"/console/media/{media}", headers={"range": "bytes=0-7"})

        assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, PNG, "image/png")
        assert (part.status_code, part.content) == (206, PNG[:8])
        assert whole.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in whole.headers["content-security-policy"]

    async def test_whoever_is_not_signed_in_gets_no_file(self, site: ConsoleSite) -> None:
        """They are sent to the door."""
        media = await _stored(site, site.rows, PNG)
        stranger = Reader(site)

        answer = await stranger.client.get(f"/console/media/{media}")

        assert answer.status_code == 303
        await stranger.close()

    async def test_a_file_of_another_account_is_none(
        self, site: ConsoleSite, reader: Reader, owner: Connection
    ) -> None:
        """Nor is one that is not there, or no id at all."""
        foreign = await _stored(site, Rows(owner, AccountId(f"other {new_id()}")), PNG)
        waiting = await site.rows.media(
            await site.rows.inbound(await site.rows.conversation()), state="waiting"
        )

        for name in (foreign, waiting, new_id(), "x"):
            assert (await reader.client.get(f"/console/media/{name}")).status_code == 404

    async def test_a_file_that_the_store_has_lost_is_none(self, site: ConsoleSite, reader: Reader) -> None:
        """The row is there; its bytes are not."""
        media = await site.rows.media(await site.rows.inbound(await site.rows.conversation()))

        answer = await reader.client.get(f"/console/media/{media}")

        assert (answer.status_code, "There is no such file" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("text", "filename", "caption"),
    [
        (None, None, ""),
        ("[image]", None, ""),
        ("[image] a [image] b", None, "a [image] b"),
        ("[document: a]b.pdf] oi", "a]b.pdf", "oi"),
        ("um texto editado", None, "um texto editado"),
    ],
)
def test_only_the_mark_of_the_file_is_left_out(text: str | None, filename: str | None, caption: str) -> None:
    """What the customer wrote stays as it is."""
    media = InboundMedia.model_construct(filename=filename) if filename else None

    assert caption_of(text, media) == caption


def test_a_reason_has_words_in_both_languages() -> None:
    """And none of them is a code."""
    assert all("_" not in word and word for words in FILES.values() for word in words)


async def _stored(site: ConsoleSite, rows: Rows, content: bytes) -> UUID:
    """A file in the table and in the store."""
    inbound = await rows.inbound(await rows.conversation())
    media = await rows.media(inbound, kind="image", mime_type="image/png", size_bytes=len(content))

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    await site.runtime.media.write(media_key(rows.account, MediaId(media)), pieces())
    return media
