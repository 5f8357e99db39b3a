"""Files and templates in the console: handed in under the session's token, shown to the account alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.operators import Operator
from onevoice.flow.authority.decide import Command
from onevoice.store.database import Database
from onevoice.testing import ManualClock, MemoryMediaStore
from onevoice.vocabulary import AccountId
from tests.builders import new_id
from tests.console_client import Reader, field_of, text_of
from tests.console_site import ConsoleSite, console_site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(64)


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    async with console_site(database, api_database, owner, clock=ManualClock()) as site:
        yield site


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


@pytest.fixture
async def as_ana(site: ConsoleSite, ana: Operator) -> AsyncIterator[Reader]:
    reader = await Reader.signed_in(site, "Ana Lima")
    yield reader
    await reader.close()


@pytest.fixture
async def held(site: ConsoleSite, ana: Operator) -> UUID:
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    return conversation


async def hand_in(
    reader: Reader, content: bytes = PNG, *, csrf: str | None = None, name: str = "mapa.png"
) -> str:
    token = field_of(await reader.desk(), "csrf") if csrf is None else csrf
    answer = await reader.client.post(
        "/console/media", content=content, headers={"x-console-csrf": token, "x-filename": name}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["name"] == name
    return str(answer.json()["id"])


async def test_a_file_is_attached_and_sent(site: ConsoleSite, as_ana: Reader, held: UUID) -> None:
    """With words or without; the thread shows the picture from the console's own address."""
    media = await hand_in(as_ana)
    answer = await as_ana.post(held, "messages", text="", media=media, key=str(new_id()))
    page = await as_ana.thread(held)
    shown = await as_ana.client.get(f"/console/media/{media}", headers={"range": "bytes=0-3"})

    assert answer.status_code == 303
    assert f'src="/console/media/{media}" alt="mapa.png"' in page.text
    assert (shown.status_code, shown.content) == (206, PNG[:4])
    assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none';")


async def test_a_page_is_a_link_and_never_a_picture(as_ana: Reader, held: UUID) -> None:
    """Whatever it was called."""
    media = await hand_in(as_ana, b"<!DOCTYPE html><script>alert(1)</script>", name="foto.png")
    await as_ana.post(held, "messages", text="veja", media=media, key=str(new_id()))
    page = await as_ana.thread(held)
    served = await as_ana.client.get(f"/console/media/{media}")

    assert "<img" not in page.text
    assert f'class="attachment" href="/console/media/{media}"' in page.text
    assert served.headers["content-disposition"].startswith("attachment")


async def test_a_file_needs_the_sessions_token_and_a_reader(
    site: ConsoleSite, as_ana: Reader, held: UUID
) -> None:
    """Another site's page can neither hand one in nor read one."""
    media = await hand_in(as_ana)
    forged = [
        await as_ana.client.post("/console/media", content=PNG),
        await as_ana.client.post("/console/media", content=PNG, headers={"x-console-csrf": "guess"}),
        await as_ana.client.post(
            "/console/media",
            content=PNG,
            headers={
                "x-console-csrf": field_of(await as_ana.desk(), "csrf"),
                "origin": "https://evil.example",
            },
        ),
    ]
    stranger = Reader(site)
    unknown = [
        await as_ana.client.get("/console/media/x"),
        await as_ana.client.get(f"/console/media/{new_id()}"),
    ]
    away = await stranger.client.get(f"/console/media/{media}")
    await stranger.close()

    assert [answer.status_code for answer in forged] == [403] * 3
    assert [answer.status_code for answer in unknown] == [404] * 2
    assert away.status_code == 303


async def test_another_accounts_file_is_not_there(site: ConsoleSite, as_ana: Reader) -> None:
    """Neither shown nor sent."""
    await site.operator("Outra", account=AccountId("other"))
    other = await Reader.signed_in(site, "Outra", account="other")
    media = await hand_in(other)
    await other.close()

    assert (await as_ana.client.get(f"/console/media/{media}")).status_code == 404


async def test_what_goes_wrong_is_said(site: ConsoleSite, as_ana: Reader, held: UUID) -> None:
    """An empty file, a store that is away, and one that has lost the file."""
    csrf = field_of(await as_ana.desk(), "csrf")
    empty = await as_ana.client.post("/console/media", content=b"", headers={"x-console-csrf": csrf})
    media = await hand_in(as_ana)
    store = site.runtime.media
    assert isinstance(store, MemoryMediaStore)
    store.is_away = True
    away = await as_ana.client.post("/console/media", content=PNG, headers={"x-console-csrf": csrf})
    unread = await as_ana.client.get(f"/console/media/{media}")
    store.is_away = False
    store.files.clear()
    lost = await as_ana.client.get(f"/console/media/{media}")
    gone = await as_ana.post(held, "messages", text="oi", media=str(new_id()), key=str(new_id()))

    assert (empty.status_code, empty.json()["message"]) == (422, "The file is empty.")
    assert (away.status_code, unread.status_code, lost.status_code) == (503, 503, 404)
    assert (gone.status_code, "Attach it again" in gone.text) == (422, True)
    assert "oi</textarea>" in gone.text


async def test_a_template_reopens_a_closed_window(site: ConsoleSite, as_ana: Reader, held: UUID) -> None:
    """By its button alone: what is written stays a draft."""
    before = await as_ana.thread(held)
    now = site.runtime.clock.now()
    await site.rows.connection.execute("update conversation set window_expires_at = $1", now)
    page = await as_ana.thread(held)
    fields = {
        "text": "um rascunho",
        "template": "retomar_conversa",
        "template_language": "pt_BR",
        "template_values": "Ana\n\nquinta",
        "as": "template",
    }
    sent = await as_ana.post(held, "messages", key=str(new_id()), **fields)
    unnamed = await as_ana.post(held, "messages", key=str(new_id()), **{**fields, "template": " "})
    [row] = await site.rows.connection.fetch("select text, payload from outbound_message")

    assert 'id="template"' not in before.text
    assert '<details class="template" id="template" open>' in page.text
    assert (sent.status_code, unnamed.status_code) == (303, 422)
    assert row["text"] == "[template: retomar_conversa]"
    assert '"text": "Ana"' in row["payload"]
    assert '"text": "quinta"' in row["payload"]


async def test_choices_are_told_in_words(site: ConsoleSite, as_ana: Reader, held: UUID) -> None:
    """What the customer may tap stands below the text."""
    payload = {"type": "buttons", "buttons": [{"id": "s", "title": "Sim"}, {"id": "n", "title": "Não"}]}
    outbound = await site.rows.outbound(held, text="Confirma?", payload=payload)

    assert "Choices: Sim · Não" in text_of(await as_ana.thread(held), f"out-{outbound}")
