"""Connections of the HTTP client, in pools of a few.

The client's own pool looks at every connection it holds, the idle ones by a system call, whenever a request
begins or ends: with hundreds in flight that cost more than the requests. Here a request goes to the first
pool with room, so that few connections are used often and kept warm.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import httpx2

_SIZE = 8


class SmallPools(httpx2.AsyncBaseTransport):
    """At most ``connections_max`` connections; a pool is made when those before it are full."""

    def __init__(self, *, connections_max: int) -> None:
        self._pools_max = max(1, connections_max // _SIZE)
        self._tls = httpx2.create_ssl_context(trust_env=False)
        self._pools: list[httpx2.AsyncHTTPTransport] = []
        self._in_flight: list[int] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        number = self._choose()
        self._in_flight[number] += 1
        try:
            response = await self._pools[number].handle_async_request(request)
        except BaseException:
            self._in_flight[number] -= 1
            raise
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _Counted(stream, self._in_flight, number)
        return response

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()

    def _choose(self) -> int:
        for number, in_flight in enumerate(self._in_flight):
            if in_flight < _SIZE:
                return number
        if len(self._pools) < self._pools_max:
            limits = httpx2.Limits(max_connections=_SIZE, max_keepalive_connections=_SIZE)
            self._pools.append(httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=limits))
            self._in_flight.append(0)
            return len(self._pools) - 1
        # All are full: it waits for its place in the pool with the fewest, as long as its time-out lets it.
        return self._in_flight.index(min(self._in_flight))


class _Counted(httpx2.AsyncByteStream):
    """An answer's body; its request is in flight until this is closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, in_flight: list[int], number: int) -> None:
        self._stream = stream
        self._in_flight = in_flight
        self._number = number
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            if not self._closed:
                self._closed = True
                self._in_flight[self._number] -= 1
