"""Fetching from an address that somebody else named: public addresses alone, judged and called as one."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import httpcore2
import httpx2
import pytest

from onevoice.adapters.media.guard import GuardedTransport, is_public, origin_of, resolve_host
from onevoice.errors import MediaUnavailable

PUBLIC = "157.240.0.1"
NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.0.1 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1
198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1
2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2002:7f00:1:: 2001:db8::1 3fff::1 100::1
fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1
media.example 2130706433 0177.0.0.1 127.1
"""
ANSWER = [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", b"ok"]


class _Stream(httpcore2.AsyncMockStream):
    def __init__(self, network: _Network) -> None:
        super().__init__(list(ANSWER))
        self._network = network

    async def start_tls(
        self,
        ssl_context: object,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - The interface is the library's.
    ) -> httpcore2.AsyncNetworkStream:
        self._network.names.append(server_hostname)
        return self

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - The interface is the library's.
    ) -> None:
        self._network.written += buffer


class _Network(httpcore2.AsyncNetworkBackend):
    """Records where connections go, and connects to nobody; ``dead`` addresses refuse."""

    def __init__(self, *dead: str) -> None:
        self.connected: list[tuple[str, int]] = []
        self.names: list[str | None] = []
        self.written = b""
        self._dead = dead

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - The interface is the library's.
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.connected.append((host, port))
        if host in self._dead:
            raise httpcore2.ConnectError("refused")
        return _Stream(self)


class _Names:
    """A name server that answers from a list, and the last answer for ever."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


@asynccontextmanager
async def guarded(names: _Names, network: _Network, *trusted: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        httpx2.AsyncHTTPTransport(trust_env=False) as plain,
        httpx2.AsyncClient(
            transport=GuardedTransport(
                plain=plain,
                trusted=[origin_of(url) for url in trusted],
                resolve=names,
                network=network,
            ),
            trust_env=False,
        ) as client,
    ):
        yield client


async def test_the_connection_goes_to_the_judged_address_with_the_hosts_name() -> None:
    """One answer of the name server is judged and called; certificate and Host header are the name's."""
    names, network = _Names([PUBLIC], ["127.0.0.1"]), _Network()
    async with guarded(names, network) as client:
        response = await client.get("https://media.example/1?a=b")

    assert response.text == "ok"
    assert names.asked == ["media.example"]
    assert network.connected == [(PUBLIC, 443)]
    assert network.names == ["media.example"]
    assert b"GET /1?a=b HTTP/1.1\r\n" in network.written
    assert b"Host: media.example\r\n" in network.written


async def test_a_second_answer_leads_nowhere_else() -> None:
    """A name that changes after it was judged is judged again before it is called again."""
    names, network = _Names([PUBLIC], ["10.0.0.8"]), _Network()
    async with guarded(names, network) as client:
        await client.get("https://media.example/1", headers={"connection": "close"})
        with pytest.raises(MediaUnavailable, match="host_refused"):
            await client.get("https://other.example/1")

    assert network.connected == [(PUBLIC, 443)]


@pytest.mark.parametrize("position", [0, 1, 2])
async def test_one_private_address_among_public_ones_refuses_all(position: int) -> None:
    """Whichever of them would be called."""
    addresses = [PUBLIC, PUBLIC]
    addresses.insert(position, "192.168.0.1")
    network = _Network()
    async with guarded(_Names(addresses), network) as client:
        with pytest.raises(MediaUnavailable, match="host_refused") as caught:
            await client.get("https://media.example/1")

    assert caught.value.retry is False
    assert network.connected == []


async def test_the_next_address_is_called_when_one_is_dead() -> None:
    """A machine without IPv6 is given such addresses, too."""
    network = _Network("2a03:2880::1")
    async with guarded(_Names(["2a03:2880::1", PUBLIC]), network) as client:
        assert (await client.get("https://media.example/1")).text == "ok"

    assert network.connected == [("2a03:2880::1", 443), (PUBLIC, 443)]


@pytest.mark.parametrize("answer", [[], socket.gaierror("no such name")])
async def test_a_name_without_an_address_is_an_ordinary_failure(answer: Sequence[str] | OSError) -> None:
    """The name server may be away for a moment."""
    async with guarded(_Names(answer), _Network()) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("https://media.example/1")


async def test_all_dead_addresses_are_an_ordinary_failure() -> None:
    """The client library's own error, as from any transport."""
    async with guarded(_Names([PUBLIC]), _Network(PUBLIC)) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("https://media.example/1")


async def test_without_encryption_nobody_is_called() -> None:
    """The token would travel in the open."""
    names, network = _Names([PUBLIC]), _Network()
    async with guarded(names, network) as client:
        with pytest.raises(MediaUnavailable, match="host_refused"):
            await client.get("http://media.example/1")

    assert names.asked == []


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"],
)
async def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    """As the system's own name service reads it; what it cannot read is not called either."""
    network = _Network()
    async with (
        httpx2.AsyncHTTPTransport() as plain,
        httpx2.AsyncClient(transport=GuardedTransport(plain=plain, network=network)) as client,
    ):
        with pytest.raises((MediaUnavailable, httpx2.ConnectError, httpx2.InvalidURL)):
            await client.get(f"https://{host}/1")

    assert network.connected == []


async def test_the_systems_name_service_gives_addresses_once() -> None:
    """A number stands for itself."""
    assert await resolve_host("127.0.0.1", 443) == ["127.0.0.1"]


async def test_a_trusted_origin_is_called_as_it_is() -> None:
    """The operator pointed the channel at it; another port of the same machine is not trusted with it."""
    network = _Network()
    async with guarded(_Names(["127.0.0.1"]), network, "http://127.0.0.1:9/v23.0") as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://127.0.0.1:9/1")
        with pytest.raises(MediaUnavailable):
            await client.get("http://127.0.0.1:10/1")
        with pytest.raises(MediaUnavailable):
            await client.get("https://127.0.0.1:9/1")

    assert network.connected == []


@pytest.mark.parametrize("address", ["", *NOT_PUBLIC.split()])
def test_what_is_not_the_public_internet(address: str) -> None:
    """Private, of this machine, of a cloud's inside, of many, of nobody, or one in the clothes of another."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "172.32.0.1", "100.128.0.1", "2a03:2880::1", "2606:4700::1111"]
)
def test_what_is(address: str) -> None:
    """Everything else."""
    assert is_public(address)
