"""A load generator that costs little: signed webhooks over kept connections, timed one by one.

It shares the machine with what it measures, so it uses no HTTP library.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import cast
from urllib.parse import urlsplit

SECRET = "app-secret-bench"  # noqa: S105 - Signs what the bench sends to itself.
ROUTE = "100000000000001"

_numbers = count(1)


def webhook(contact: str, text: str = "oi") -> bytes:
    """One request with one message, complete with its signature."""
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "551130000000", "phone_number_id": ROUTE},
        "contacts": [{"wa_id": contact, "profile": {"name": "Ana"}}],
        "messages": [
            {
                "from": contact,
                "id": f"wamid.BENCH.{time.time_ns()}.{next(_numbers)}",
                "timestamp": str(int(time.time())),
                "type": "text",
                "text": {"body": text},
            }
        ],
    }
    entry = {"id": "200000000000002", "changes": [{"field": "messages", "value": value}]}
    body = json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    head = (
        "POST /webhooks/loja HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
        f"x-hub-signature-256: sha256={signature}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(slots=True)
class Timings:
    """Latencies of requests in seconds, and how many were not answered with 200."""

    seconds: list[float] = field(default_factory=list[float])
    refused_count: int = 0
    took_seconds: float = 0.0

    def quantile(self, share: float) -> float:
        return quantile(self.seconds, share)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies; of nothing, not a number."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[int] | None = None
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if len(rest) >= length and self._answer is not None:
            self._buffer = rest[length:]
            if not self._answer.done():
                self._answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server closed the connection"))

    async def ask(self, request: bytes) -> int:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Load:
    """Connections to one server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._idle: deque[_Connection] = deque()

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def closed_loop(self, requests: Iterable[bytes], *, connections: int) -> Timings:
        """As fast as so many connections can go, each waiting for its answer."""
        timings = Timings()
        waiting = iter(requests)

        async def one() -> None:
            for request in waiting:
                await self._timed(request, timings)

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(connections)))
        timings.took_seconds = time.perf_counter() - started
        return timings

    async def open_loop(self, requests: Sequence[bytes], *, per_second: float) -> Timings:
        """At a fixed rate, whether the answers keep up or not."""
        timings = Timings()
        started = time.perf_counter()
        tasks: list[asyncio.Task[None]] = []
        for number, request in enumerate(requests):
            wait = started + number / per_second - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(self._timed(request, timings)))
        await asyncio.gather(*tasks)
        timings.took_seconds = time.perf_counter() - started
        return timings

    async def _timed(self, request: bytes, timings: Timings) -> None:
        connection = self._idle.pop() if self._idle else await self._connect()
        started = time.perf_counter()
        status = await connection.ask(request)
        timings.seconds.append(time.perf_counter() - started)
        self._idle.append(connection)
        if status != 200:
            timings.refused_count += 1

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, self._host, self._port)
        return connection
