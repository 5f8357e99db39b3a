"""The chat page's routes: cookies, limits before work, refusals, headers."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
from httpx2 import ASGITransport, AsyncClient

from onevoice.entrypoints.http.webchat.page import readable_ink
from onevoice.ports.channel import MessageItem, StatusItem
from onevoice.testing.manual_clock import ManualClock
from tests.builders import new_id
from tests.webchat.conftest import ORIGIN
from tests.webchat_site import Site


def message(text: str = "oi", **more: object) -> dict[str, object]:
    return {"id": str(new_id()), "text": text, **more}


async def test_the_page_has_a_strict_policy_and_nothing_inline(client: AsyncClient) -> None:
    """No inline script or style stands in the page, and its policy would refuse one."""
    answer = await client.get("/chat/loja")

    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "media-src 'self'; "
        "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<style|<script(?![^>]+src=)|\sstyle=|\son\w+=|javascript:", answer.text)


async def test_every_file_the_page_names_is_served(client: AsyncClient) -> None:
    """Styles, script and icon answer with their types; others do not exist."""
    page = await client.get("/chat/loja/")
    names = re.findall(r'(?:href|src)="(/chat/loja/[^"]+)"', page.text)
    types = {name.partition("?")[0]: (await client.get(name)).headers["content-type"] for name in names}

    assert types == {
        "/chat/loja/assets/icon.svg": "image/svg+xml",
        "/chat/loja/assets/chat.css": "text/css; charset=utf-8",
        "/chat/loja/theme.css": "text/css; charset=utf-8",
        "/chat/loja/assets/chat.js": "text/javascript; charset=utf-8",
    }
    for name in ("embed.js", "..%2froutes.py", "chat.html"):
        assert (await client.get(f"/chat/loja/assets/{name}")).status_code == 404


async def test_an_unknown_channel_is_not_found(client: AsyncClient) -> None:
    """Every route of a channel that does not exist answers 404, in JSON."""
    for path in ("", "/theme.css", "/embed.js", "/assets/chat.js", "/messages?before=x", "/events"):
        answer = await client.get(f"/chat/nowhere{path}")

        assert (answer.status_code, answer.json()["error"]) == (404, "channel_unknown")


async def test_words_and_looks_are_the_channels_own(site: Site, client: AsyncClient) -> None:
    """Title and greeting are shown as text, whatever they hold."""
    site.add_page(title="<b>Aurora</b> & 'Filhos'", greeting="Bom dia <3", color="#ffd400", language="pt")
    page = await client.get("/chat/loja", headers={"accept-language": "en"})
    theme = await client.get("/chat/loja/theme.css")
    embed = await client.get("/chat/loja/embed.js")

    assert "<b>" not in page.text
    assert "Bom dia &lt;3" in page.text
    assert 'lang="pt-BR"' in page.text
    assert theme.text == ":root { --accent: #ffd400; --accent-ink: #10211d; }\n"
    assert "</" not in embed.text.partition("settings = ")[2].partition(";\n")[0]
    assert embed.headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt-BR"),
        ("en-US,en;q=0.9,pt;q=0.8", "en"),
        ("en;q=0.2,pt;q=0.7", "pt-BR"),
        ("fr,de;q=0.5", "en"),
        ("pt;q=nonsense", "en"),
        ("pt;q=0", "en"),
    ],
)
async def test_the_language_is_the_browsers(client: AsyncClient, accepted: str, language: str) -> None:
    """Portuguese or English, whichever the browser likes better."""
    answer = await client.get("/chat/loja", headers={"accept-language": accepted})

    assert f'<html lang="{language}">' in answer.text


@pytest.mark.parametrize(
    ("color", "ink"),
    [("#000000", "#ffffff"), ("#ffffff", "#10211d"), ("#1f6f63", "#ffffff"), ("#ffd400", "#10211d")],
)
def test_the_ink_can_be_read(color: str, ink: str) -> None:
    """Light ink on dark colours and dark ink on light ones."""
    assert readable_ink(color) == ink


async def test_only_allowed_sites_may_frame_the_page(site: Site, client: AsyncClient) -> None:
    """The allowed origins stand in frame-ancestors, and nobody else's."""
    site.add_page(allowed_origins=("https://shop.example", "https://www.shop.example"))
    answer = await client.get("/chat/loja")

    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self' https://shop.example https://www.shop.example;" in policy


async def test_a_visitor_keeps_the_cookie(client: AsyncClient) -> None:
    """Loading again is the same visitor, with the cookie's life renewed."""
    first = await client.get("/chat/loja")
    second = await client.get("/chat/loja")

    assert first.headers["set-cookie"] == second.headers["set-cookie"]
    assert re.fullmatch(
        r"onevoice_visitor_loja=[0-9a-f]{32}\.[0-9a-f]{64}; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax",
        first.headers["set-cookie"],
    )


@pytest.mark.parametrize(
    ("origins", "rules"),
    [
        ((), "HttpOnly; Secure; SameSite=Lax"),
        (("https://a.example",), "HttpOnly; Secure; SameSite=None; Partitioned"),
    ],
)
async def test_the_cookie_under_https(site: Site, origins: tuple[str, ...], rules: str) -> None:
    """Under https the cookie is bound to this host; for embedding, also to the surrounding site."""
    site.public_url = "https://chat.example"
    site.add_page(allowed_origins=origins)
    async with AsyncClient(transport=ASGITransport(app=site.app()), base_url="http://inside") as client:
        cookie = (await client.get("/chat/loja")).headers["set-cookie"]

    assert cookie.startswith("__Host-onevoice_visitor_loja=")
    assert cookie.endswith(rules)


async def test_a_message_is_handed_to_the_inbound_step(site: Site, client: AsyncClient, visitor: str) -> None:
    """Text and name arrive as an item whose id joins visitor and client id; the same id counts once."""
    body = message("  olá\x00  ", name=" Ana ")
    answers = [await client.post("/chat/loja/messages", json=body) for _ in range(3)]
    items = [item for item in site.received if isinstance(item, MessageItem)]

    assert [answer.json() for answer in answers] == [{"key": f"in:{body['id']}", "state": "received"}] * 3
    assert {item.external_id for item in items} == {f"{visitor}:{body['id']}"}
    assert (items[0].text, items[0].contact.name, items[0].contact.key) == (
        "olá",
        "Ana",
        f"visitor:{visitor}",
    )
    assert await site.texts() == ["olá"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "body_unreadable"),
        (b'{"text": "\xff"}', 400, "body_unreadable"),
        (b"[" * 10_000, 422, "body_invalid"),
        (b'{"x":' * 3_000, 400, "body_unreadable"),
        (b"{}", 422, "body_invalid"),
        (b'{"id": "1", "text": "oi"}', 422, "body_invalid"),
        (json.dumps({"id": "0" * 32, "text": 5}).encode(), 422, "body_invalid"),
        (json.dumps({"id": str(new_id()), "text": " \x00 "}).encode(), 422, "text_empty"),
        (json.dumps({"id": str(new_id()), "text": "x" * 4_001}).encode(), 422, "body_invalid"),
        (json.dumps({"id": str(new_id()), "text": "x", "name": "n" * 81}).encode(), 422, "body_invalid"),
        (b" " * (16 * 1024 + 1), 413, "body_too_large"),
    ],
    ids=[f"body{number}" for number in range(11)],
)
async def test_a_bad_message_is_refused_with_a_reason(
    site: Site, client: AsyncClient, visitor: str, body: bytes, status: int, code: str
) -> None:
    """Each fault has its code and a sentence, and nothing reaches the inbound step."""
    answer = await client.post(
        "/chat/loja/messages", content=body, headers={"content-type": "application/json"}
    )

    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert answer.json()["message"].endswith(".")
    assert site.received == []


async def test_the_longest_text_is_taken(site: Site, client: AsyncClient, visitor: str) -> None:
    """4,000 characters of four bytes each fit into the body."""
    answer = await client.post(
        "/chat/loja/messages",
        content=json.dumps(message("🥐" * 4_000), ensure_ascii=False).encode(),
        headers={"content-type": "application/json"},
    )

    assert answer.status_code == 200
    assert await site.texts() == ["🥐" * 4_000]


async def test_a_body_without_a_length_is_cut_off(client: AsyncClient, visitor: str) -> None:
    """A body sent in pieces is read no further than the limit."""
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1024
            yield b" " * 1024

    answer = await client.post(
        "/chat/loja/messages", content=pieces(), headers={"content-type": "application/json"}
    )

    assert answer.status_code == 413
    assert sent <= 1_000 * 1024


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"origin": "http://evil.test"}, 403, "origin_refused"),
        ({"origin": "null"}, 403, "origin_refused"),
        ({"origin": ""}, 403, "origin_refused"),
        ({"origin": "http://chat.test.evil.test"}, 403, "origin_refused"),
        ({"content-type": "text/plain"}, 415, "json_expected"),
        ({"content-type": "application/x-www-form-urlencoded"}, 415, "json_expected"),
        ({"content-length": "abc"}, 413, "body_too_large"),
        ({"cookie": ""}, 401, "visitor_unknown"),
        ({"cookie": f"onevoice_visitor_loja={'0' * 32}.{'0' * 64}"}, 401, "visitor_unknown"),
        ({"cookie": f"onevoice_visitor_loja={'0' * 32}.é"}, 401, "visitor_unknown"),
    ],
)
async def test_another_sites_page_cannot_write(
    site: Site, client: AsyncClient, visitor: str, headers: dict[str, str], status: int, code: str
) -> None:
    """Origin, content type and cookie are checked before anything is read or stored."""
    if "cookie" in headers:
        client.cookies.clear()
    raw = {name: value.encode() for name, value in headers.items()}
    for path, body in (("messages", message()), ("receipts", {"ids": [str(new_id())], "status": "read"})):
        answer = await client.post(
            f"/chat/loja/{path}",
            content=json.dumps(body).encode(),
            headers={"content-type": b"application/json", **raw},
        )

        assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert site.received == []


async def test_the_public_url_is_an_accepted_origin(site: Site) -> None:
    """Behind a proxy that changes the host, the browser sends the public origin."""
    site.public_url = "https://chat.example"
    async with AsyncClient(transport=ASGITransport(app=site.app()), base_url="http://inside") as client:
        cookie = (await client.get("/chat/loja")).headers["set-cookie"].partition(";")[0]
        answer = await client.post(
            "/chat/loja/messages",
            json=message(),
            headers={"origin": "https://chat.example", "cookie": cookie},
        )

    assert answer.status_code == 200


async def test_a_cookie_of_one_channel_is_worth_nothing_on_another(site: Site, client: AsyncClient) -> None:
    """The signature names its channel."""
    site.add_page("outra")
    value = (await client.get("/chat/loja")).headers["set-cookie"].partition(";")[0].partition("=")[2]
    client.cookies.clear()
    answer = await client.post(
        "/chat/outra/messages", json=message(), headers={"cookie": f"onevoice_visitor_outra={value}"}
    )

    assert answer.status_code == 401


async def test_messages_per_visitor_are_limited(
    site: Site, client: AsyncClient, visitor: str, clock: ManualClock
) -> None:
    """Ten at once, then one every three seconds; the answer says when."""
    statuses = [(await client.post("/chat/loja/messages", json=message())).status_code for _ in range(11)]
    refused = await client.post("/chat/loja/messages", json=message())
    await clock.advance(3)
    allowed = await client.post("/chat/loja/messages", json=message())

    assert statuses == [200] * 10 + [429]
    assert (refused.json()["error"], refused.headers["retry-after"]) == ("too_many_requests", "3")
    assert allowed.status_code == 200
    assert len(site.received) == 11


async def test_new_visitors_per_address_are_limited(client: AsyncClient) -> None:
    """An address that never keeps its cookie is slowed down; one that keeps it is not."""
    await client.get("/chat/loja")
    kept = dict(client.cookies)
    statuses: list[int] = []
    for _ in range(60):
        client.cookies.clear()
        statuses.append((await client.get("/chat/loja")).status_code)
    known = await client.get(
        "/chat/loja", headers={"cookie": f"onevoice_visitor_loja={kept['onevoice_visitor_loja']}"}
    )

    assert statuses == [200] * 59 + [429]
    assert known.status_code == 200


async def test_receipts_reach_the_status_step_for_own_messages_only(
    site: Site, client: AsyncClient, visitor: str
) -> None:
    """A receipt names messages of this visitor that it moves forward; others are left out in silence."""
    await client.post("/chat/loja/messages", json=message())
    own = await site.conversation(visitor)
    foreign = await site.conversation("f" * 32)
    ids = [await site.say(own, state, state=state) for state in ("sent", "delivered", "read")]
    ids += [await site.say(foreign, "de outro"), new_id()]
    site.received.clear()
    answer = await client.post(
        "/chat/loja/receipts", json={"ids": [str(item) for item in ids], "status": "delivered"}
    )
    items = [item for item in site.received if isinstance(item, StatusItem)]

    assert answer.status_code == 204
    assert [(item.status, item.external_id.split(":")[:2]) for item in items] == [
        ("delivered", ["webchat", visitor])
    ]
    assert await site.outbound_states() == {
        "sent": "delivered", "delivered": "delivered", "read": "read", "de outro": "sent"
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"ids": [], "status": "read"},
        {"ids": ["x"], "status": "read"},
        {"ids": [str(new_id())], "status": "failed"},
        {"ids": [str(new_id()) for _ in range(101)], "status": "read"},
    ],
)
async def test_a_bad_receipt_is_refused(client: AsyncClient, visitor: str, body: dict[str, object]) -> None:
    """Only delivered and read, for 1 to 100 ids."""
    answer = await client.post("/chat/loja/receipts", json=body)

    assert (answer.status_code, answer.json()["error"]) == (422, "body_invalid")


@pytest.mark.parametrize(
    "before", ["", "x", "a/b/c", "2026-01-01T00:00:00/in/1", "2026-01-01T00:00:00Z/in/x"]
)
async def test_a_bad_place_is_refused(client: AsyncClient, visitor: str, before: str) -> None:
    """Paging back starts from a place the server has given out."""
    answer = await client.get("/chat/loja/messages", params={"before": before})

    assert (answer.status_code, answer.json()["error"]) == (400, "before_invalid")


async def test_an_outage_is_told_and_the_page_still_opens(
    site: Site, client: AsyncClient, visitor: str
) -> None:
    """With the database down a message gets 503 and stays in the browser's outbox; the page itself loads."""
    site.is_down = True
    answer = await client.post("/chat/loja/messages", json=message())

    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "2"
    await site.database.close()
    assert (await client.get("/chat/loja")).status_code == 200
    assert (await client.get("/chat/loja/events")).status_code == 503


async def test_the_origin_of_the_fixture_is_the_clients_own(client: AsyncClient) -> None:
    """The tests above write from the page's own origin."""
    assert str(client.base_url).rstrip("/") == ORIGIN == client.headers["origin"]
