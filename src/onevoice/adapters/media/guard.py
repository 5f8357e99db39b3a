"""Fetching from an address that somebody else named: over https, and to a public address of the internet alone.

A name is resolved once, every address it has is judged, and the connection goes to one of those very addresses, so
that no second answer of the name server can lead elsewhere. The certificate and the Host header are the name's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Final, cast

import httpcore2
import httpx2

from onevoice.errors import MediaUnavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as texts; raises ``OSError`` when there are none."""

Origin = tuple[str, str, int]
"""Scheme, host and port."""

_PORTS: Final = {"http": 80, "https": 443}
_REFUSED: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        # Unspecified, private, shared by carriers, loopback, link-local with the clouds' metadata.
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        # Protocol assignments and one more cloud's metadata, examples, translation relays, benchmarks.
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "168.63.129.16/32"),
        # Multicast, reserved, broadcast.
        *("224.0.0.0/4", "240.0.0.0/4"),
        # IPv6: unspecified, loopback and IPv4 inside, mapped, translated (NAT64, Teredo, 6to4) or discarded.
        *(
            "::/96",
            "::ffff:0:0/96",
            "::ffff:0:0:0/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
        ),
        *("2002::/16", "2001:db8::/32", "3fff::/20", "5f00::/16"),
        # Private with the clouds' metadata, link-local, once site-local, multicast.
        *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
    )
)


def is_public(address: str) -> bool:
    """Whether an address may be called; what is no address may not.

    >>> [is_public(address) for address in ("93.184.215.14", "10.0.0.1", "::ffff:127.0.0.1", "fe80::1%eth0")]
    [True, False, False, False]
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return not any(parsed in network for network in _REFUSED if network.version == parsed.version)


def origin_of(url: str) -> Origin:
    """Scheme, host and port of a URL, the port written out; raises ``httpx2.InvalidURL``."""
    return _origin(httpx2.URL(url))


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The system's own name service."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Carries requests to public addresses over https. It raises ``MediaUnavailable`` ``host_refused`` for all others.

    ``trusted`` are origins that the operator configured: they go through ``plain`` unjudged, also to this machine.
    ``plain`` belongs to the caller, who closes it.
    """

    def __init__(
        self,
        *,
        plain: httpx2.AsyncBaseTransport,
        trusted: Iterable[Origin] = (),
        resolve: Resolve = resolve_host,
        tls: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._plain = plain
        self._trusted = frozenset(trusted)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or httpx2.create_ssl_context(trust_env=False),
            max_connections=64,
            max_keepalive_connections=8,
            keepalive_expiry=5.0,
            network_backend=_PinnedNetwork(resolve, network or _system_network()),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) in self._trusted:
            return await self._plain.handle_async_request(request)
        if request.url.scheme != "https":
            raise _refused()
        outgoing = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=cast("httpx2.AsyncByteStream", request.stream),
            extensions=request.extensions,
        )
        with _as_httpx():
            response = await self._pool.handle_async_request(outgoing)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=cast("dict[str, object]", response.extensions),
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _PinnedNetwork(httpcore2.AsyncNetworkBackend):
    """Opens connections to judged addresses; the pool above it goes on speaking TLS and HTTP with the name."""

    def __init__(self, resolve: Resolve, network: httpcore2.AsyncNetworkBackend) -> None:
        self._resolve = resolve
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - The interface is the library's.
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect within ``timeout`` seconds in all, to the first address that answers."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._judged(host, port)
                return await self._connect(addresses, port, local_address, socket_options)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("no connection in time") from None

    async def _judged(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except OSError as error:
            raise httpcore2.ConnectError("the host's name is not known") from error
        if not addresses:
            raise httpcore2.ConnectError("the host has no address")
        if not all(is_public(address) for address in addresses):
            raise _refused()
        return addresses

    async def _connect(
        self,
        addresses: Sequence[str],
        port: int,
        local_address: str | None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None,
    ) -> httpcore2.AsyncNetworkStream:
        options = None if socket_options is None else list(socket_options)
        *others, last = addresses
        for address in others:
            try:
                return await self._network.connect_tcp(
                    address, port, local_address=local_address, socket_options=options
                )
            except httpcore2.ConnectError:
                continue  # The next one may answer: a machine without IPv6 has such addresses.
        return await self._network.connect_tcp(
            last, port, local_address=local_address, socket_options=options
        )


class _Body(httpx2.AsyncByteStream):
    """An answer's body, whose errors are the client library's."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _as_httpx():
            await self._response.aclose()


@contextmanager
def _as_httpx() -> Generator[None]:
    """The same kind of error by the client library's name."""
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
        httpcore2.ConnectionNotAvailable,
    ) as error:
        kind: object = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise cast("type[httpx2.TransportError]", kind)(str(error)) from error


def _system_network() -> httpcore2.AsyncNetworkBackend:
    # The library's two spellings of it, with and without anyio, confuse the type checker.
    return cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())


def _origin(url: httpx2.URL) -> Origin:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0)


def _refused() -> MediaUnavailable:
    return MediaUnavailable("host_refused", retry=False)
