"""The webhook door, plain ASGI: read, verify, parse, commit, answer. 2xx only after the commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from onevoice.errors import BodyUnreadable, DatabaseUnavailable, OnevoiceError, SignatureInvalid
from onevoice.flow.inbound.intake import Intake
from onevoice.ports.channel import Channel, WebhookAnswer, WebhookRequest
from onevoice.telemetry import Telemetry
from onevoice.vocabulary import ChannelName

LOG = logging.getLogger("onevoice.webhooks")

PREFIX = "/webhooks/"
BODY_BYTES_MAX = 3 * 1024 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Refused(Exception):  # Not an error of ours: an answer that ends the request early.
    def __init__(self, status: int, code: str, message: str) -> None:
        self.answer = WebhookAnswer(
            status=status,
            body=f'{{"error":"{code}","message":"{message}"}}'.encode(),
            content_type="application/json",
        )


class WebhookDoor:
    """Serves ``/webhooks/{channel}`` for every configured channel; a removed channel answers 404."""

    def __init__(
        self,
        *,
        channels: Mapping[ChannelName, Channel],
        intake: Intake,
        telemetry: Telemetry,
        public_url: str,
        on_received: Callable[[Any], None],
    ) -> None:
        self._channels = channels
        self._intake = intake
        self._telemetry = telemetry
        self._public_url = public_url.rstrip("/")
        self._on_received = on_received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        try:
            answer = await self._answer(scope, receive)
        except _Refused as refused:
            answer = refused.answer
        await _send(send, answer)
        self._telemetry.webhook_seconds.observe(time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive) -> WebhookAnswer:
        channel = self._channels.get(ChannelName(unquote(scope["path"][len(PREFIX) :]).rstrip("/")))
        if channel is None:
            raise _Refused(404, "channel_unknown", "no channel of this name is configured")
        method = scope["method"]
        if method not in ("GET", "POST"):
            raise _Refused(405, "method_not_allowed", "a webhook takes GET and POST")
        body = await _read(scope, receive) if method == "POST" else b""
        request = self._request(scope, body)
        if method == "GET":
            return channel.answer_verification(request)
        return await self._take(channel, request)

    async def _take(self, channel: Channel, request: WebhookRequest) -> WebhookAnswer:
        try:
            channel.verify(request)
            items = channel.parse(request.body)
            received = await self._intake.take(channel, items)
        except SignatureInvalid as error:
            raise _Refused(401, "signature_invalid", str(error)) from None
        except BodyUnreadable as error:
            raise _Refused(400, "body_unreadable", str(error)) from None
        except DatabaseUnavailable as error:
            raise _Refused(503, "database_unavailable", str(error)) from None
        except OnevoiceError as error:
            LOG.exception("a webhook could not be stored", extra={"channel": channel.name})
            raise _Refused(503, "not_stored", "nothing was stored; deliver it again") from error
        self._on_received(received)
        return WebhookAnswer(status=200)

    def _request(self, scope: Scope, body: bytes) -> WebhookRequest:
        query = scope.get("query_string", b"").decode("latin-1")
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            text = value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        return WebhookRequest(
            method=scope["method"],
            url=f"{self._public_url}{path}{'?' + query if query else ''}",
            headers=headers,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            body=body,
        )


async def _read(scope: Scope, receive: Receive) -> bytes:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > BODY_BYTES_MAX:
            raise _Refused(413, "body_too_large", "a webhook's body is at most 3 MB")
        if name == b"content-encoding" and value.lower() not in (b"", b"identity"):
            raise _Refused(415, "encoding_unsupported", "a webhook's body comes uncompressed")
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise _Refused(400, "body_incomplete", "the body ended before its length")
        chunks.append(event.get("body", b""))
        size += len(chunks[-1])
        if size > BODY_BYTES_MAX:
            raise _Refused(413, "body_too_large", "a webhook's body is at most 3 MB")
        if not event.get("more_body", False):
            return b"".join(chunks)


async def _send(send: Send, answer: WebhookAnswer) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [
                (b"content-type", answer.content_type.encode("latin-1")),
                (b"content-length", str(len(answer.body)).encode()),
                (b"x-content-type-options", b"nosniff"),
            ],
        }
    )
    await send({"type": "http.response.body", "body": answer.body})
