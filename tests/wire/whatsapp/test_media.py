"""Fetching a customer's file from the Graph API: two steps, bounds, and errors that say what helps."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel, media
from onevoice.adapters.channels.whatsapp.media import BYTES_MAX
from onevoice.errors import MediaUnavailable
from onevoice.testing import Gate
from onevoice.testing.graph_media import NOT_FOUND, PAGE, MediaAnswer
from onevoice.testing.graph_server import LoopbackGraph
from onevoice.vocabulary import MediaKind
from tests.wire.whatsapp.downloads import DOCUMENT, REF, VOICE, fetch, refused, steps
from tests.wire.whatsapp.wire import make_channel


async def test_a_file_comes_in_two_steps_with_the_token_on_both(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """An address for the id, then the bytes; under a name of our own, and not packed."""
    async with channel.download(REF) as stream:
        content = b"".join([chunk async for chunk in stream.chunks])

    first, second = graph.media.requests
    assert content == VOICE
    assert (stream.mime_type, stream.size_bytes) == ("audio/ogg; codecs=opus", len(VOICE))
    assert first.path == "/v23.0/900000000000001?phone_number_id=100000000000001"
    for request in (first, second):
        assert request.authorization == "Bearer token-example"
        assert request.headers["user-agent"] == "onevoice"
        assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_stale_address_is_replaced_by_a_fresh_one(
    graph: LoopbackGraph, channel: WhatsAppChannel, status: int
) -> None:
    """Fixture 14: addresses live for minutes."""
    graph.media.script(REF.external_id, MediaAnswer(status=status, body=b""))

    assert await fetch(channel) == VOICE
    assert steps(graph) == "abab"
    assert len({request.path for request in graph.media.requests if request.is_for_bytes}) == 2


async def test_addresses_that_stay_stale_end_the_try(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """Three addresses, then the caller's back-off: too many failing calls block a number's files."""
    graph.media.script(REF.external_id, *[NOT_FOUND] * 3)
    error = await refused(channel)

    assert (error.reason, error.retry) == ("address_refused", True)
    assert steps(graph) == "ababab"


@pytest.mark.parametrize(
    ("status", "code", "reason", "retry", "wait"),
    [
        (400, 100, "gone", False, None),
        (404, None, "gone", False, None),
        (404, 803, "gone", False, None),
        (401, 190, "token_refused", True, 300.0),
        (400, 190, "token_refused", True, 300.0),
        (403, 10, "token_refused", True, 300.0),
        (401, None, "token_refused", True, 300.0),
        (429, None, "rate_limited", True, 60.0),
        (400, 4, "rate_limited", True, 60.0),
        (403, 80007, "rate_limited", True, 60.0),
        (500, None, "channel_unavailable", True, None),
        (500, 2, "channel_unavailable", True, None),
        (503, None, "channel_unavailable", True, None),
        (302, None, "redirect_refused", False, None),
    ],
)
async def test_a_refused_address_says_whether_trying_again_helps(
    graph: LoopbackGraph,
    channel: WhatsAppChannel,
    status: int,
    code: int | None,
    reason: str,
    retry: bool,
    wait: float | None,
) -> None:
    """The code first, else the status."""
    body = b"" if code is None else f'{{"error":{{"code":{code},"message":"x"}}}}'.encode()
    graph.media.script_address(REF.external_id, MediaAnswer(status=status, body=body))
    error = await refused(channel)

    assert (error.reason, error.retry, error.retry_after_seconds) == (reason, retry, wait)
    assert steps(graph) == "a"


@pytest.mark.parametrize(("given", "wait"), [("7", 7.0), ("999999", 3600.0), ("soon", 60.0)])
async def test_the_platforms_own_wait_is_kept(
    graph: LoopbackGraph, channel: WhatsAppChannel, given: str, wait: float
) -> None:
    """``Retry-After`` in seconds, within reason."""
    graph.media.script(REF.external_id, MediaAnswer(status=429, body=b"", headers={"retry-after": given}))

    assert (await refused(channel)).retry_after_seconds == wait


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"{}", b'{"url":7}', b"{" + b" " * 200_000 + b"}"])
async def test_an_answer_without_an_address_is_tried_again(
    graph: LoopbackGraph, channel: WhatsAppChannel, body: bytes
) -> None:
    """Whatever it is, it is read up to a bound and named."""
    graph.media.script_address(REF.external_id, MediaAnswer(body=body))

    assert (await refused(channel)).reason in {"answer_unreadable", "host_refused"}


async def test_an_id_that_is_forgotten_is_gone(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """After seven days."""
    graph.media.withdraw(REF.external_id)

    assert (await refused(channel)).retry is False


@pytest.mark.parametrize("external_id", ["", "..", "a/b", "1?fields=x", "1#", "é", "1" * 300])
async def test_an_id_that_would_change_the_path_is_not_asked_for(
    graph: LoopbackGraph, channel: WhatsAppChannel, external_id: str
) -> None:
    """The id is the customer's platform's word, and stays one segment."""
    error = await refused(channel, replace(REF, external_id=external_id))

    assert (error.reason, error.retry) == ("no_such_file", False)
    assert graph.media.requests == []


@pytest.mark.parametrize("size", [BYTES_MAX[MediaKind.AUDIO] + 1, str(BYTES_MAX[MediaKind.AUDIO] + 1)])
async def test_a_file_announced_as_too_large_is_not_fetched_on(
    graph: LoopbackGraph, channel: WhatsAppChannel, size: object
) -> None:
    """``file_size`` is a number or a text."""
    graph.media.put(REF.external_id, VOICE, file_size=size)
    error = await refused(channel)

    assert (error.reason, error.retry) == ("too_large", False)


async def test_a_file_that_announces_nothing_is_measured_on_the_way(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """The bound holds whatever was said of the size."""
    bound = BYTES_MAX[MediaKind.AUDIO]
    graph.media.put(REF.external_id, size_bytes=bound + 1, file_size=None)
    graph.media.script(REF.external_id, MediaAnswer(headers={"content-length": ""}, cut_after=bound + 1))
    received: list[int] = []

    async def measure() -> None:
        async with channel.download(REF) as stream:
            assert stream.size_bytes is None
            received.extend([len(chunk) async for chunk in stream.chunks])

    with pytest.raises(MediaUnavailable, match="too_large"):
        await measure()
    assert sum(received) <= bound


async def test_a_length_beyond_the_bound_is_refused(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """The host's own word counts as well as the API's."""
    graph.media.put(REF.external_id, size_bytes=BYTES_MAX[MediaKind.AUDIO] + 1, file_size=10)

    assert (await refused(channel)).reason == "too_large"


async def test_each_kind_has_its_own_bound(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """What no voice message can be, a document is."""
    size = BYTES_MAX[MediaKind.AUDIO] + 1
    graph.media.put(REF.external_id, size_bytes=size, mime_type="application/pdf")

    assert len(await fetch(channel, DOCUMENT)) == size


async def test_a_file_of_another_size_than_announced_is_no_file(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """Cut short by a proxy, say; the next try may bring it whole."""
    graph.media.put(REF.external_id, VOICE, file_size=len(VOICE) + 1)
    error = await refused(channel)

    assert (error.reason, error.retry) == ("wrong_size", True)


async def test_a_connection_that_breaks_off_is_tried_again(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """Half a file is none."""
    graph.media.script(REF.external_id, MediaAnswer(cut_after=100))
    error = await refused(channel)

    assert (error.reason, error.retry) == ("cut_off", True)


@pytest.mark.parametrize(
    "answer",
    [
        PAGE,
        MediaAnswer(body=b"\n<html><head>"),
        MediaAnswer(body=b"x", headers={"content-type": "application/xhtml+xml"}),
    ],
)
async def test_a_page_instead_of_the_file_is_refused(
    graph: LoopbackGraph, channel: WhatsAppChannel, answer: MediaAnswer
) -> None:
    """By its type, or by how it begins."""
    graph.media.script(REF.external_id, answer)

    assert (await refused(channel)).reason == "page_instead_of_file"


async def test_a_page_that_was_sent_as_a_document_is_one(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """Customers send pages, too."""
    page = b"<!doctype html><p>proposta</p>"
    graph.media.put(REF.external_id, page, mime_type="text/html")

    assert await fetch(channel, replace(DOCUMENT, mime_type="text/html")) == page


async def test_a_packed_answer_is_refused(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """Unpacked, it could be of any size."""
    graph.media.script(REF.external_id, MediaAnswer(headers={"content-encoding": "gzip"}))

    assert (await refused(channel)).reason == "compressed"


async def test_a_redirect_carries_the_token_nowhere(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """Not even to the same host."""
    async with LoopbackGraph() as elsewhere:
        moved = MediaAnswer(status=302, body=b"", headers={"location": f"{elsewhere.url}/files/1"})
        graph.media.script(REF.external_id, moved)
        error = await refused(channel)

        assert (error.reason, error.retry) == ("redirect_refused", False)
        assert elsewhere.media.requests == []


@pytest.mark.parametrize("paused_at", [0, 5_000])
async def test_a_host_that_falls_silent_is_given_up(
    graph: LoopbackGraph, channel: WhatsAppChannel, monkeypatch: pytest.MonkeyPatch, paused_at: int
) -> None:
    """Before the first byte or in the middle."""
    monkeypatch.setattr(media, "_TIMEOUT", httpx2.Timeout(5.0, read=0.05))
    gate = Gate()
    graph.media.script(REF.external_id, MediaAnswer(gate=gate, pause_after=paused_at))
    error = await refused(channel)

    assert (error.reason, error.retry) == ("cut_off", True)
    gate.open()


async def test_a_graph_api_that_is_away_is_tried_again(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """Nothing is known of the file yet."""
    await graph.stop()
    error = await refused(channel)

    assert (error.reason, error.retry) == ("channel_unreachable", True)


async def test_a_download_can_be_cancelled(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """Nothing of it goes on, and the next one works."""
    gate = Gate()
    graph.media.script(REF.external_id, MediaAnswer(gate=gate, pause_after=10))
    call = asyncio.ensure_future(fetch(channel))
    await gate.reached()
    call.cancel()
    await asyncio.wait([call])
    gate.open()

    assert call.cancelled()
    assert await fetch(channel) == VOICE


async def test_what_the_reader_raises_comes_out_unchanged(channel: WhatsAppChannel) -> None:
    """A full disk is no fault of the channel."""

    async def store() -> None:
        async with channel.download(REF) as stream:
            await anext(stream.chunks)
            raise OSError("disk is full")

    with pytest.raises(OSError, match="disk"):
        await store()


async def test_neither_token_nor_address_is_logged(
    graph: LoopbackGraph, channel: WhatsAppChannel, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even at the finest level."""
    graph.media.script(REF.external_id, NOT_FOUND, MediaAnswer(cut_after=1))
    with caplog.at_level(logging.DEBUG):
        error = await refused(channel)

    assert error.__cause__ is None or "token-example" not in repr(error.__cause__)
    assert "token-example" not in caplog.text


async def test_a_token_that_is_no_header_shows_in_no_error(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The library's own error would quote it."""
    channel = make_channel(http, graph_url=graph.url, files=http, access_token="secret\r\nx: y")
    error = await refused(channel)

    assert error.__cause__ is None
    assert "secret" not in str(error)
