"""A file handed to the Graph API before its message: the form, and what each refusal is worth."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from uuid import UUID

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.errors import MediaUnavailable
from onevoice.ports.channel import Delivery, NotSent
from onevoice.testing.graph_server import LoopbackGraph
from onevoice.testing.graph_uploads import UploadAnswer
from onevoice.vocabulary import Media, MediaId, MediaKind, MediaState
from tests.wire.whatsapp.wire import ROUTE, make_channel

PIECE = bytes(range(256)) * 256


def a_file(size_bytes: int, mime_type: str = "image/png") -> Media:
    return Media(
        id=MediaId(UUID(int=1)),
        kind=MediaKind.IMAGE,
        state=MediaState.STORED,
        mime_type=mime_type,
        filename='a"\r\nb.png',
        size_bytes=size_bytes,
    )


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield PIECE


@pytest.fixture
def channel(graph: LoopbackGraph, http: httpx2.AsyncClient) -> WhatsAppChannel:
    return make_channel(http, graph_url=graph.url)


async def test_a_file_gets_an_id(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """The whole form; the customer's view of the name is not part of it."""
    external_id = await channel.upload(a_file(len(PIECE)), pieces(1))

    [request] = graph.uploads.requests
    assert external_id == request.external_id == "910000000000001"
    assert request.path == f"/v23.0/{ROUTE}/media"
    assert request.headers["authorization"] == "Bearer token-example"
    assert request.fields == {"messaging_product": "whatsapp", "type": "image/png"}
    assert request.content == PIECE


async def test_a_large_file_goes_in_pieces(graph: LoopbackGraph, channel: WhatsAppChannel) -> None:
    """Its length is told beforehand; nothing holds it whole."""
    await channel.upload(a_file(100 * len(PIECE)), pieces(100))

    [request] = graph.uploads.requests
    assert request.size_bytes == 100 * len(PIECE)
    assert request.sha256 == hashlib.sha256(PIECE * 100).hexdigest()


@pytest.mark.parametrize(
    ("answer", "reason", "retry"),
    [
        (UploadAnswer(code=131053), "channel_131053", False),
        (UploadAnswer(code=100), "channel_100", False),
        (UploadAnswer(code=190, http_status=401), "channel_190", True),
        (UploadAnswer(code=131016, http_status=503), "channel_131016", True),
        (UploadAnswer(code=131000, http_status=500), "channel_131000", True),
        (UploadAnswer(code=80007, http_status=429), "channel_80007", True),
        (UploadAnswer(drops=True), "channel_unreachable", True),
    ],
)
async def test_a_refusal_says_whether_trying_again_helps(
    graph: LoopbackGraph, channel: WhatsAppChannel, answer: UploadAnswer, reason: str, retry: bool
) -> None:
    """Only what is wrong with the file itself stays wrong."""
    graph.uploads.script(answer)
    with pytest.raises(MediaUnavailable) as refused:
        await channel.upload(a_file(len(PIECE)), pieces(1))

    assert (refused.value.reason, refused.value.retry) == (reason, retry)


async def test_a_store_that_fails_in_the_middle_is_told_as_such(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """The channel is not to blame for it."""

    async def broken() -> AsyncIterator[bytes]:
        yield PIECE
        raise MediaUnavailable("store_unavailable")

    with pytest.raises(MediaUnavailable) as refused:
        await channel.upload(a_file(2 * len(PIECE)), broken())

    assert refused.value.reason == "store_unavailable"


async def test_a_file_that_was_not_uploaded_is_not_sent(
    graph: LoopbackGraph, channel: WhatsAppChannel
) -> None:
    """No byte leaves for a message that would carry nothing."""
    outcome = await channel.deliver(
        Delivery(
            address="5511999990000",
            text="[image]",
            correlation_id="out_1.1",
            deadline=1000.0,
            key="turn.1",
            payload={"type": "image", "media": "x"},
        )
    )

    assert outcome == NotSent(reason="not_uploaded")
    assert graph.requests == []
