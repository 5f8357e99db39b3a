"""The sign that somebody is at work: one call, which may fail without harm."""

from __future__ import annotations

import httpx2
import pytest

from onevoice.testing.graph_server import LoopbackGraph
from tests.wire.whatsapp.wire import make_channel


async def test_one_call_marks_as_read_and_shows_typing(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """There is no typing without reading."""
    await make_channel(http, graph_url=graph.url).show_working("wamid.EXAMPLE.IN.0001")

    assert graph.requests == []
    assert graph.marks == [
        {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": "wamid.EXAMPLE.IN.0001",
            "typing_indicator": {"type": "text"},
        }
    ]


async def test_a_refusal_is_raised(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """The caller counts it and goes on."""
    channel = make_channel(http, graph_url=graph.url, access_token="another")
    with pytest.raises(httpx2.HTTPError):
        await channel.show_working("wamid.EXAMPLE.IN.0001")

    assert graph.marks == []


def test_it_can_be_switched_off(http: httpx2.AsyncClient) -> None:
    """Some do not want to be seen reading."""
    assert make_channel(http).working_seconds == 25.0
    assert make_channel(http, typing_indicator=False).working_seconds is None
