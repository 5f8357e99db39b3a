"""Files over the API: handed in, sent, read again, and kept from those they are not for."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from onevoice.entrypoints.http.api import ApiServices, create_api
from onevoice.flow.attachment.decide import FILE_BYTES_MAX
from onevoice.flow.attachment.link import signed_media_path
from onevoice.flow.runtime import Runtime
from onevoice.settings import Settings
from onevoice.testing import MemoryMediaStore, RecordingChannel
from onevoice.testing.manual_clock import ManualClock
from onevoice.vocabulary import AccountId, MediaId
from tests.builders import Rows
from tests.http.conftest import caller

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(200))
PAGE = b"<!DOCTYPE html><html><script>alert(1)</script></html>"


async def hand_in(client: AsyncClient, content: bytes = PNG, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await client.post("/api/v1/media", content=content, headers=named)
    assert answer.status_code == 201, answer.text
    return answer.json()["media"]


@pytest.fixture
async def held(own: Rows, keys: Any, root: Any) -> str:
    """A conversation that the caller of `client` holds."""
    conversation = await own.conversation(authority_state="HUMAN_ACTIVE", authority_owner=root.operator_id)
    return str(conversation)


async def send(client: AsyncClient, conversation: str, key: str = "k", **body: object) -> Any:
    path = f"/api/v1/conversations/{conversation}/messages"
    return await client.post(path, json=body, headers={"Idempotency-Key": key})


async def test_a_file_is_kept_as_its_bytes_say(client: AsyncClient) -> None:
    """The name is percent-encoded; a claimed type counts for nothing."""
    media = await hand_in(client, X_Filename="mapa%20da%20loja%C3%A7.png", Content_Type="text/html")

    assert media == {
        "id": media["id"],
        "kind": "image",
        "mime_type": "image/png",
        "filename": "mapa da lojaç.png",
        "size_bytes": len(PNG),
        "sha256": hashlib.sha256(PNG).hexdigest(),
        "url": f"/api/v1/media/{media['id']}",
    }


async def test_a_file_is_read_again(client: AsyncClient) -> None:
    """Whole, with what keeps a browser from running it."""
    media = await hand_in(client, X_Filename="ma%22pa.png")
    answer = await client.get(media["url"])

    assert answer.content == PNG
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''ma%22pa.png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    assert answer.headers["content-security-policy"] == policy


async def test_a_page_is_never_shown_in_place(client: AsyncClient) -> None:
    """Whatever it was called, it is downloaded."""
    media = await hand_in(client, PAGE, X_Filename="foto.png", Content_Type="image/png")
    answer = await client.get(media["url"])

    assert (media["kind"], answer.headers["content-type"]) == ("document", "text/html; charset=utf-8")
    assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("asked", "status", "content", "said"),
    [
        ("bytes=0-3", 206, PNG[:4], f"bytes 0-3/{len(PNG)}"),
        ("bytes=10-", 206, PNG[10:], f"bytes 10-{len(PNG) - 1}/{len(PNG)}"),
        ("bytes=-5", 206, PNG[-5:], f"bytes {len(PNG) - 5}-{len(PNG) - 1}/{len(PNG)}"),
        ("bytes=0-99999", 200, PNG, None),
        ("bytes=5-2", 416, b"", f"bytes */{len(PNG)}"),
        ("bytes=99999-", 416, b"", f"bytes */{len(PNG)}"),
        ("bytes=-0", 416, b"", f"bytes */{len(PNG)}"),
        ("bytes=0-1,4-5", 200, PNG, None),
        ("lines=1-2", 200, PNG, None),
    ],
)
async def test_a_player_may_ask_for_a_range(
    client: AsyncClient, asked: str, status: int, content: bytes, said: str | None
) -> None:
    """One range; what nobody understands is the whole file."""
    media = await hand_in(client)
    answer = await client.get(media["url"], headers={"Range": asked})

    assert (answer.status_code, answer.content, answer.headers.get("content-range")) == (
        status,
        content,
        said,
    )


async def test_a_file_that_cannot_be_kept_says_why(client: AsyncClient, runtime: Runtime) -> None:
    """Empty, too large, or nowhere to put it."""
    empty = await client.post("/api/v1/media", content=b"")
    declared = await client.post(
        "/api/v1/media", content=b"x", headers={"Content-Length": str(FILE_BYTES_MAX + 1)}
    )
    assert isinstance(runtime.media, MemoryMediaStore)
    runtime.media.is_away = True
    away = await client.post("/api/v1/media", content=PNG)

    assert (empty.status_code, empty.json()["error"]) == (422, "file_empty")
    assert (declared.status_code, declared.json()["error"]) == (413, "file_too_large")
    assert (away.status_code, away.json()["error"]) == (503, "store_unavailable")


async def test_a_file_is_counted_while_it_arrives(client: AsyncClient, runtime: Runtime) -> None:
    """Whatever its length was said to be; nothing of it stays."""

    async def endless() -> AsyncIterator[bytes]:
        piece = b"\x00" * 2**22
        for _ in range(FILE_BYTES_MAX // len(piece) + 1):
            yield piece

    answer = await client.post("/api/v1/media", content=endless())

    assert (answer.status_code, answer.json()["error"]) == (413, "file_too_large")
    assert isinstance(runtime.media, MemoryMediaStore)
    assert runtime.media.files == {}


async def test_another_accounts_file_is_not_there(client: AsyncClient, other_client: AsyncClient) -> None:
    """Neither to be read nor to be sent."""
    theirs = await hand_in(other_client)
    answer = await client.get(theirs["url"])

    assert (answer.status_code, answer.json()["error"]) == (404, "media_unknown")


async def test_a_file_that_is_not_here_says_so(client: AsyncClient, own: Rows) -> None:
    """On its way, never had, or lost by the store."""
    for state, columns, expected in (
        ("waiting", "next_try_at", (409, "media_waiting")),
        ("failed", None, (404, "media_failed")),
        ("stored", None, (404, "media_missing")),
    ):
        row = await own.connection.fetchval(
            "insert into media (account_id, id, kind, state, reason, mime_type, size_bytes, created_at, next_try_at) "
            "values ($1, gen_random_uuid(), 'audio', $2, $3, 'audio/ogg', 5, now(), $4) returning id",
            own.account,
            state,
            "gone" if state == "failed" else None,
            await own.connection.fetchval("select now()") if columns else None,
        )
        answer = await client.get(f"/api/v1/media/{row}")
        assert (answer.status_code, answer.json()["error"]) == expected


async def test_an_operator_sends_a_file(client: AsyncClient, held: str) -> None:
    """The timeline shows it with its address; the same key and content is the same message."""
    media = await hand_in(client, X_Filename="mapa.png")
    body = {"text": "o mapa", "media": {"id": media["id"], "kind": "document", "filename": "rota.png"}}
    first = await send(client, held, **body)
    again = await send(client, held, **body)
    other = await send(client, held, text="o mapa")
    [item] = (await client.get(f"/api/v1/conversations/{held}/timeline")).json()["items"]

    assert (first.status_code, again.status_code) == (201, 200)
    assert (other.status_code, other.json()["error"]) == (409, "key_reused")
    assert (item["type"], item["text"]) == ("document", "o mapa")
    assert item["media"]["url"] == media["url"]
    assert item["media"]["mime_type"] == "image/png"
    assert first.json()["outbound"]["media"] == item["media"]


@pytest.mark.parametrize(
    "content",
    [
        {"text": "Confirma?", "buttons": [{"id": "s", "title": "Sim"}]},
        {
            "text": "Escolha",
            "menu": {
                "button": "Ver",
                "sections": [{"title": None, "rows": [{"id": "1", "title": "10h", "description": None}]}],
            },
        },
        {"template": {"name": "retomar", "language": "pt_BR", "components": []}},
    ],
)
async def test_every_content_can_be_sent(client: AsyncClient, held: str, content: dict[str, object]) -> None:
    """And is told by its type."""
    answer = await send(client, held, **content)

    assert answer.status_code == 201, answer.text
    assert answer.json()["outbound"]["type"] in content


async def test_a_reaction_is_sent(client: AsyncClient, held: str, own: Rows) -> None:
    """On a message of this conversation, by either id."""
    inbound = await own.inbound(UUID(held), text="oi")
    answer = await send(client, held, reaction={"message": str(inbound), "emoji": "👍"})

    assert answer.json()["outbound"]["reaction"]["emoji"] == "👍"
    assert answer.json()["outbound"]["text"] == "[reaction: 👍]"


@pytest.mark.parametrize(
    ("body", "status", "fault"),
    [
        ({"media": "00000000-0000-0000-0000-000000000005"}, 422, "media_unknown"),
        ({"reaction": {"message": "nobody", "emoji": "👍"}}, 422, "reaction_target_unknown"),
        ({"text": "?", "buttons": [{"id": "a", "title": "a"}]}, 422, "not_supported"),
        ({"text": "?", "template": {"name": "t", "language": "pt"}}, 422, "content_ambiguous"),
        ({"text": "?", "buttons": []}, 422, None),
        ({"menu": {"button": "Ver", "sections": []}}, 422, None),
        ({}, 422, None),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_its_fault(
    client: AsyncClient, held: str, runtime: Runtime, body: dict[str, object], status: int, fault: str | None
) -> None:
    """Nothing is sealed, and the sentence says what to do."""
    [channel] = runtime.channels.values()
    assert isinstance(channel, RecordingChannel)
    channel.unsupported = frozenset({"buttons"})
    answer = await send(client, held, **body)

    assert (answer.status_code, answer.json().get("fault")) == (status, fault)
    assert (await client.get(f"/api/v1/conversations/{held}/timeline")).json()["items"] == []


@pytest.mark.parametrize(
    ("media", "field"),
    [
        ("nonsense", "media.id"),
        ({"id": "nonsense"}, "media.id"),
        ({"id": str(UUID(int=5)), "kind": "film"}, "media.kind"),
    ],
)
async def test_a_fault_of_a_file_names_its_field(
    client: AsyncClient, held: str, media: object, field: str
) -> None:
    """One fault, of the form that was given."""
    answer = await send(client, held, media=media)

    assert answer.status_code == 422
    assert [fault["field"] for fault in answer.json()["faults"]] == [field]


@pytest.fixture
def linked_api(services: ApiServices, runtime: Runtime) -> FastAPI:
    """The API of a server whose agent has a secret."""
    settings = Settings.model_validate({"agent": {"use": "https://agent.example.com", "secret": "s3cret"}})
    return create_api(replace(services, runtime=replace(runtime, settings=settings)))


async def test_a_signed_link_needs_no_token(
    client: AsyncClient, linked_api: FastAPI, own_account: AccountId, clock: ManualClock
) -> None:
    """For its file, until its time is over, as it was made."""
    media = await hand_in(client)
    other = await hand_in(client)
    path = signed_media_path(
        own_account, MediaId(UUID(media["id"])), secret="s3cret", now=clock.now(), seconds=600
    )
    async with caller(linked_api, None) as stranger:
        good = await stranger.get(path)
        spoiled = [
            await stranger.get(path.replace(media["id"], other["id"])),
            await stranger.get(path[:-1] + ("0" if path[-1] != "0" else "1")),
            await stranger.get(path.replace("expires=1", "expires=2")),
            await stranger.get(path.partition("?")[0]),
        ]
        await clock.advance(timedelta(seconds=601).total_seconds())
        late = await stranger.get(path)

    assert good.content == PNG
    assert [answer.status_code for answer in (*spoiled, late)] == [401] * 5


async def test_without_a_secret_no_link_is_good(
    client: AsyncClient, api: FastAPI, own_account: AccountId, clock: ManualClock
) -> None:
    """An empty key would be known to everyone."""
    media = await hand_in(client)
    path = signed_media_path(own_account, MediaId(UUID(media["id"])), secret="", now=clock.now())
    async with caller(api, None) as stranger:
        answer = await stranger.get(path)

    assert answer.status_code == 401
