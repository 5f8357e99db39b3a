"""The HTTP client's connections: few are used often, and never more than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from onevoice.adapters.small_pools import SmallPools
from onevoice.testing import Gate


class Counter:
    """A web server that counts its connections and answers when its gate is open."""

    def __init__(self) -> None:
        self.connection_count = 0
        self.waiting_count = 0
        self.gate = Gate(opened=True)
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.waiting_count += 1
                await self.gate.pass_through()
                self.waiting_count -= 1
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # The client has closed it.
        finally:
            writer.close()


@pytest.fixture
async def counter() -> AsyncIterator[Counter]:
    counter = Counter()
    server = await asyncio.start_server(counter.serve, "127.0.0.1", 0)
    async with server:
        counter.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield counter
        counter.gate.open()


@asynccontextmanager
async def client(connections_max: int) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = SmallPools(connections_max=connections_max)
    async with httpx2.AsyncClient(transport=transport, timeout=httpx2.Timeout(5.0, pool=0.1)) as http:
        yield http


async def test_one_request_after_the_other_uses_one_connection(counter: Counter) -> None:
    """A warm connection is taken before a new one is made."""
    async with client(64) as http:
        for _ in range(30):
            assert (await http.get(counter.url)).text == "ok"

    assert counter.connection_count == 1


async def test_many_at_once_each_have_their_own_up_to_the_bound(counter: Counter) -> None:
    """Sixteen hang on sixteen connections; the next one waits for its place and gives up in time."""
    counter.gate = Gate()
    async with client(16) as http, asyncio.TaskGroup() as group:
        asked = [group.create_task(http.get(counter.url)) for _ in range(16)]
        while counter.waiting_count < 16:
            await asyncio.wait(asked, timeout=0.01)
        with pytest.raises(httpx2.PoolTimeout):
            await http.get(counter.url)
        counter.gate.open()

    assert [task.result().text for task in asked] == ["ok"] * 16
    assert counter.connection_count == 16


async def test_a_place_is_free_again_after_every_end(counter: Counter) -> None:
    """Cancelled, failed or closed unread: the place counts no longer."""
    async with client(8) as http:
        counter.gate = Gate()
        for _ in range(3):
            asked = [asyncio.create_task(http.get(counter.url)) for _ in range(8)]
            await asyncio.wait(asked, timeout=0.1)
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        with pytest.raises(httpx2.ConnectError):
            await http.get("http://127.0.0.1:1/")
        counter.gate.open()
        for _ in range(20):
            async with http.stream("GET", counter.url):
                pass

        answers = await asyncio.gather(*(http.get(counter.url) for _ in range(8)))

    assert [answer.text for answer in answers] == ["ok"] * 8
