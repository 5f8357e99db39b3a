"""Every channel keeps the contract; a new one adds its subject here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.adapters.channels.webchat import WebchatChannel
from onevoice.ports.channel import MediaRef, WebhookRequest
from onevoice.testing import ManualClock
from onevoice.testing.graph_server import BreakOff, Hang, LoopbackGraph, Refuse
from onevoice.vocabulary import AccountId, ChannelName, MediaKind
from tests.contracts.channel_contract import ChannelContract, ChannelSubject, Far
from tests.wire.whatsapp.wire import envelope, make_channel, message, sign, webhook


class WhatsAppSubject(ChannelSubject):
    part_units_max = 4096
    behaviours = frozenset(Far)
    address = "5511999990000"

    def __init__(self, graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
        self.channel = make_channel(http, graph_url=graph.url, monotonic=self.now)
        self._graph = graph

    def body(self, text: str, external_id: str) -> bytes:
        # The compact spelling of the platform, with its escapes.
        body = envelope({"messages": [message(id=external_id, text={"body": text})]})
        return json.dumps(json.loads(body), separators=(",", ":")).encode()

    def webhook(self, body: bytes) -> WebhookRequest:
        return webhook(body, sign(body))

    async def arrange(self, far: Far) -> None:
        if far is Far.UNREACHABLE:
            await self._graph.stop()
        elif far is not Far.ACCEPTS:
            answers = {
                Far.REFUSES: Refuse(code=100),
                Far.TAKES_AND_BREAKS_OFF: BreakOff(),
                Far.HANGS: Hang(),
            }
            self._graph.script(self.address, answers[far])

    def received(self) -> list[str]:
        return [request.text for request in self._graph.messages]

    def keep(self, content: bytes) -> MediaRef | None:
        self._graph.media.put("900000000000001", content)
        return MediaRef(kind=MediaKind.DOCUMENT, external_id="900000000000001")

    def signs(self) -> list[str]:
        return [str(mark["message_id"]) for mark in self._graph.marks]

    def now(self) -> float:
        return 100.0


class TestWhatsApp(ChannelContract):
    @pytest.fixture
    async def subject(self) -> AsyncIterator[ChannelSubject]:
        async with LoopbackGraph() as graph, httpx2.AsyncClient(trust_env=False) as http:
            yield WhatsAppSubject(graph, http)


class WebchatSubject(ChannelSubject):
    takes_webhooks = False
    part_units_max = None
    behaviours = frozenset({Far.ACCEPTS})
    address = "visitor-1"

    def __init__(self) -> None:
        self._clock = ManualClock()
        self.channel = WebchatChannel(
            name=ChannelName("site"), account=AccountId("default"), clock=self._clock
        )

    def body(self, text: str, external_id: str) -> bytes:
        # The page's route has read the text as JSON without half pairs before it writes this.
        whole = text.encode("utf-8", "replace").decode()
        return json.dumps({"visitor": self.address, "id": external_id, "text": whole}).encode()

    def webhook(self, body: bytes) -> WebhookRequest:
        return WebhookRequest(method="POST", url="/webhooks/site", headers={}, query={}, body=body)

    async def arrange(self, far: Far) -> None:
        """A row is all there is: it cannot be refused, hang or break off."""

    def received(self) -> list[str] | None:
        return None

    def keep(self, content: bytes) -> MediaRef | None:
        return None

    def signs(self) -> list[str]:
        return []

    def now(self) -> float:
        return self._clock.monotonic()


class TestWebchat(ChannelContract):
    @pytest.fixture
    def subject(self) -> ChannelSubject:
        return WebchatSubject()
