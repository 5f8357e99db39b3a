"""The token of a number goes to Meta, to the configured stand-in, to hosts the operator named, and nowhere else."""

from __future__ import annotations

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.channels.whatsapp.media import may_have_token
from onevoice.adapters.media.guard import GuardedTransport, origin_of
from onevoice.testing.graph_server import LoopbackGraph
from tests.wire.whatsapp.downloads import REF, VOICE, refused, steps
from tests.wire.whatsapp.wire import make_channel

GRAPH_URL = "https://graph.facebook.com/v23.0"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/v23.0/files/1",
        "http://localhost:{port}/v23.0/files/1",
        "https://127.0.0.1:{port}/v23.0/files/1",
        "http://10.0.0.8/1",
        "https://10.0.0.8/1",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]:{port}/v23.0/files/1",
        "http://2130706433:{port}/1",
        "http://0177.0.0.1:{port}/1",
        "http://0x7f000001:{port}/1",
        "http://user@127.0.0.1:{port}/v23.0/files/1",
        "http://lookaside.fbsbx.com/1",
        "https://lookaside.fbsbx.com:8443/1",
        "https://fbsbx.com/1",
        "https://evilfbsbx.com/1",
        "https://lookaside.fbsbx.com.evil.example/1",
        "https://lookaside.fbsbx.com@evil.example/1",
        "https://evil.example/?lookaside.fbsbx.com",
        "https://evil.example#@lookaside.fbsbx.com",
        "https://evil.example\\@lookaside.fbsbx.com/",
        "ftp://lookaside.fbsbx.com/1",
        "data:text/plain,x",
        "//evil.example/1",
        "lookaside.fbsbx.com/1",
    ],
)
async def test_the_token_goes_to_no_other_host(
    graph: LoopbackGraph, channel: WhatsAppChannel, url: str
) -> None:
    """An address that is not Meta's nor of the configured origin gets no call at all."""
    async with LoopbackGraph() as other:
        named = url.format(port=graph.port, other=other.port)
        graph.media.put(REF.external_id, VOICE, url=named)
        error = await refused(channel)

        assert error.reason in {"host_refused", "answer_unreadable"}
        assert steps(graph) == "a"
        assert other.media.requests == []


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1", True),
        ("https://LOOKASIDE.fbsbx.com/1", True),
        ("https://mmg.whatsapp.net/1", True),
        ("https://graph.facebook.com/v23.0/1", True),
        ("https://graph.facebook.com:443/1", True),
        ("https://media.example/1", True),
        ("https://a.files.example/1", True),
        ("https://files.example/1", False),
        ("https://graph.facebook.com.:443/1", False),
        ("https://www.facebook.com/1", False),
        ("http://graph.facebook.com/1", False),
        ("https://graph.facebook.com:444/1", False),
    ],
)
def test_who_may_have_the_token(url: str, allowed: bool) -> None:
    """Meta's hosts, and those the operator named, over https on its own port."""
    hosts = ("media.example", "*.files.example")

    assert may_have_token(httpx2.URL(url), graph_url=GRAPH_URL, hosts=hosts) is allowed


def test_a_stand_in_may_have_the_token_at_its_very_origin() -> None:
    """Scheme, host and port; the operator pointed the channel there."""
    urls = {
        "http://127.0.0.1:8080/x": True,
        "https://127.0.0.1:8080/x": False,
        "http://127.0.0.1:8081/x": False,
        "http://127.0.0.2:8080/x": False,
    }
    found = {
        url: may_have_token(httpx2.URL(url), graph_url="http://127.0.0.1:8080/v23.0", hosts=())
        for url in urls
    }

    assert found == urls


async def test_a_listed_host_on_a_private_address_is_refused(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """A name of Meta's that leads to this machine leads nowhere."""

    async def resolve(host: str, port: int) -> list[str]:
        assert (host, port) == ("lookaside.fbsbx.com", 443)
        return ["157.240.0.1", "127.0.0.1"]

    graph.media.put(REF.external_id, VOICE, url="https://lookaside.fbsbx.com/1")
    async with (
        httpx2.AsyncHTTPTransport(trust_env=False) as plain,
        httpx2.AsyncClient(
            transport=GuardedTransport(plain=plain, trusted=[origin_of(graph.url)], resolve=resolve)
        ) as files,
    ):
        error = await refused(make_channel(http, graph_url=graph.url, files=files))

    assert (error.reason, error.retry) == ("host_refused", False)
