"""What the webhook door takes and refuses, on the wire."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from onevoice.testing import LoopbackGraph
from tests.process.conftest import SharedServer
from tests.process.door import Door
from tests.process.server import VERIFY_TOKEN
from tests.wire.whatsapp.wire import envelope, sign

MEGABYTE = 1024 * 1024
STRANGER = "5521900000001"


async def counted(shared_server: SharedServer, statement: str, *args: object) -> int:
    connection = await asyncpg.connect(shared_server.dsn)
    try:
        found: int = await connection.fetchval(statement, *args)
    finally:
        await connection.close()
    return found


def padded(door: Door, size: int, contact: str) -> bytes:
    """A signed-looking body of exactly so many bytes."""
    body = envelope({"messages": [door.message("x", contact=contact)]})
    return body[:-1] + b" " * (size - len(body)) + body[-1:]


async def test_three_megabytes_are_taken_and_one_byte_more_is_not(
    shared: Door, shared_graph: LoopbackGraph
) -> None:
    """The bound is exact; a body above it stores nothing."""
    largest = await shared.post(padded(shared, 3 * MEGABYTE, "5521900000002"))
    larger = await shared.post(padded(shared, 3 * MEGABYTE + 1, "5521900000003"))

    assert (largest.status_code, larger.status_code) == (200, 413)
    assert larger.json()["error"] == "body_too_large"
    assert await shared.conversations("5521900000003") == []
    await shared_graph.called(1)


async def test_a_chunked_body_is_measured_while_it_is_read(shared: Door) -> None:
    """Without a length the answer comes when the bound is passed, whatever would follow."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b" " * MEGABYTE

    async with httpx2.AsyncClient(base_url=shared.url, trust_env=False) as http:
        answer = await http.post(
            "/webhooks/loja", content=chunks(), headers={"x-hub-signature-256": "sha256=00"}
        )

    assert answer.status_code == 413


async def test_a_declared_length_is_refused_before_the_body_comes(shared: Door) -> None:
    """The sender of a gigabyte is answered after its headers."""
    parts = urlsplit(shared.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(b"POST /webhooks/loja HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n{")

    status = await asyncio.wait_for(reader.readline(), 10)

    assert b" 413 " in status
    writer.close()


async def test_a_body_that_breaks_off_stores_nothing(shared: Door) -> None:
    """A connection that ends in the middle of a signed body leaves the server well."""
    body = envelope({"messages": [shared.message("x", contact=STRANGER)]})
    parts = urlsplit(shared.url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"POST /webhooks/loja HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: {sign(body)}\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body[:-10])
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    assert (await shared.get("/healthz")).status_code == 200
    assert await shared.conversations(STRANGER) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"a":1}x', b"\xff\xfe{}", b"[" * 101 + b"]" * 101, b'{"a":' * 200_000, b"NaN-"],
    ids=["empty", "cut", "trailing", "encoding", "101 deep", "very deep", "word"],
)
async def test_what_is_no_json_or_nested_too_deep_is_400(shared: Door, body: bytes) -> None:
    """Signed or not, it cannot be read; the platform is told so."""
    answer = await shared.post(body)

    assert answer.status_code == 400
    assert answer.json()["error"] == "body_unreadable"


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"7",
        b'"text"',
        b"[" * 100 + b"]" * 100,
        b'{"object":"page","entry":[]}',
        b'{"object":"whatsapp_business_account","entry":"none"}',
        b'{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"new","value":{"x":"\\u0000"}}]}]}',
    ],
    ids=["list", "number", "string", "100 deep", "object", "entry", "field with NUL"],
)
async def test_an_unknown_shape_is_kept_and_answered_with_200(
    shared: Door, shared_server: SharedServer, body: bytes
) -> None:
    """What nobody can read today is there tomorrow, once, as the bytes that came."""
    before = await counted(shared_server, "select count(*) from unknown_event")

    statuses = [(await shared.post(body)).status_code for _ in range(2)]

    assert statuses == [200, 200]
    assert await counted(shared_server, "select count(*) from unknown_event") == before + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x00b", "a\ufffdb"), ("\ud83d", "\ufffd"), ("x" * 60_000, "x" * 60_000)],
    ids=["NUL", "half a surrogate pair", "long"],
)
async def test_a_text_that_the_database_cannot_hold_is_kept_in_its_raw_bytes(
    shared: Door, shared_server: SharedServer, shared_graph: LoopbackGraph, text: str, shown: str
) -> None:
    """It takes neither its neighbour nor the webhook down; the signs that cannot be stored are replaced."""
    contact, neighbour = f"5521{910_000_000 + len(text)}", f"5521{920_000_000 + len(text)}"
    odd = shared.message(text, contact=contact)

    status = await shared.deliver(odd, shared.message("oi", contact=neighbour))

    assert status == 200
    await shared.reaches("outbound", "sent", contact=neighbour)
    [stored] = await shared.timeline(contact, kind="inbound")
    assert stored["text"] == shown
    raw = "select count(*) from inbound_message where external_id = $1 and length(raw) > $2"
    assert await counted(shared_server, raw, odd["id"], len(text)) == 1


async def test_a_compressed_body_is_refused(shared: Door) -> None:
    """Nothing is unpacked before its signature is known."""
    packed = gzip.compress(envelope({"messages": [shared.message()]}))

    answer = await shared.post(packed, headers={"content-encoding": "gzip"})

    assert answer.status_code == 415


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "sha256=\xe9"])
async def test_a_bad_signature_is_401_and_stores_nothing(
    shared: Door, shared_server: SharedServer, signature: str
) -> None:
    """Neither a message nor an unknown event comes from somebody without the secret."""
    count = "select (select count(*) from inbound_message) + (select count(*) from unknown_event)"
    before = await counted(shared_server, count)
    item = shared.message("forged", contact=STRANGER)

    answer = await shared.post(envelope({"messages": [item]}), signature=signature)

    assert answer.status_code == 401
    assert await shared.conversations(STRANGER) == []
    assert await counted(shared_server, count) == before


async def test_a_body_written_anew_does_not_bear_its_signature(shared: Door) -> None:
    """The signature is over the bytes on the wire, escapes included (fixture 8)."""
    body = (
        rb'{"object":"whatsapp_business_account","entry":[{"id":"200000000000002","changes":[{"field":"messages",'
        rb'"value":{"text":"Ol\u00e1 \ud83d\ude00 a\/b user\u0040example.com"}}]}]}'
    )
    signature = "sha256=c049e6cf27dd3ca93839dfcebe84eaec22c49ce4c1d8e96d4d36074ddab6f1e7"
    again = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()

    assert (await shared.post(body, signature=signature)).status_code == 200
    assert (await shared.post(again, signature=signature)).status_code == 401


async def test_an_unknown_channel_is_404(shared: Door) -> None:
    """Neither path nor encoding reaches what is not configured."""
    for name in ("nowhere", "loja/x", "%2e%2e/loja", ""):
        assert (await shared.post(b"{}", channel=name)).status_code == 404


async def test_another_method_is_405(shared: Door) -> None:
    """A webhook is posted, and verified by GET."""
    async with httpx2.AsyncClient(base_url=shared.url, trust_env=False) as http:
        assert (await http.put("/webhooks/loja", content=b"{}")).status_code == 405


async def test_the_verification_echoes_the_challenge(shared: Door) -> None:
    """The right word gets the challenge back as plain text, a wrong or missing one 403."""
    query = {"hub.mode": "subscribe", "hub.challenge": "1158201444"}

    right = await shared.get("/webhooks/loja", token=None, **query, **{"hub.verify_token": VERIFY_TOKEN})
    wrong = await shared.get("/webhooks/loja", token=None, **query, **{"hub.verify_token": "guess"})
    missing = await shared.get("/webhooks/loja", token=None, **query)

    assert (right.status_code, right.text) == (200, "1158201444")
    assert right.headers["content-type"].startswith("text/plain")
    assert (wrong.status_code, missing.status_code) == (403, 403)
    assert "1158201444" not in wrong.text + missing.text


async def test_the_probes_need_no_token_and_the_api_does(shared: Door) -> None:
    """A load balancer asks the probes; conversations are for who may see them."""
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await shared.get(path, token=None)).status_code == 200
    assert (await shared.get("/api/v1/conversations", token=None)).status_code == 401
    assert (await shared.get("/api/v1/conversations", token="guess")).status_code == 401
