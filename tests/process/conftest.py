"""Real processes: one server that the tests of a worker share, and servers that a test ends as it likes."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from onevoice.testing import LoopbackGraph
from tests.postgres import TestServer, run
from tests.process.door import Door
from tests.process.server import Sections, Server, configure
from tests.store.embedded_process import ends


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedServer:
    """A server with the echo agent whose Graph stand-in listens on a port kept for it."""

    url: str
    dsn: str
    graph_port: int


@dataclass(slots=True, kw_only=True)
class Place:
    """A test's folder, database and Graph stand-in; its servers are put down when the test ends."""

    folder: Path
    dsn: str
    graph: LoopbackGraph
    stack: AsyncExitStack
    servers: list[Server] = field(default_factory=list[Server])

    async def serve(
        self,
        sections: Sections | None = None,
        *,
        channels: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[Server, Door]:
        """Start a server and wait until it is ready; without ``sections``, as the one before."""
        file = self.folder / "onevoice.toml"
        if sections is not None or not file.exists():
            given = {**(sections or {})}
            given.setdefault("database", {"url": self.dsn} if self.dsn else {})
            configure(self.folder, graph_url=self.graph.url, sections=given, channels=channels)
        server = Server.launch(file, number=len(self.servers) + 1, environment=environment)
        self.servers.append(server)
        door = await self.stack.enter_async_context(Door(await server.wait_until_ready()))
        return server, door


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting three processes on a busy machine takes its time; each wait inside has a bound of its own."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(150))


@pytest.fixture(scope="session")
def shared_server(server: TestServer, process_name: str) -> Iterator[SharedServer]:
    """Started once; tests tell their conversations apart by the contact."""
    folder = Path(tempfile.mkdtemp(prefix="onevoice-serve-"))
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        graph_port: int = reserved.getsockname()[1]
    name = f"onevoice_test_serve_{process_name}"
    dsn = run(server.create(name))
    configuration = configure(
        folder,
        graph_url=f"http://127.0.0.1:{graph_port}/v23.0",
        sections={"database": {"url": dsn}, "outbox": {"send_timeout_seconds": 1.0}},
    )
    process = Server.launch(configuration)
    try:
        yield SharedServer(url=process.wait_until_ready_outside(), dsn=dsn, graph_port=graph_port)
        process.terminate()
        assert process.process.wait(timeout=25) == 0
    finally:
        process.put_down()
        run(server.drop(name))
        shutil.rmtree(folder)


@pytest.fixture
async def shared_graph(shared_server: SharedServer) -> AsyncIterator[LoopbackGraph]:
    """The shared server's channel, for this test alone."""
    graph = LoopbackGraph()
    await graph.start(shared_server.graph_port)
    yield graph
    await graph.stop()


@pytest.fixture
async def shared(shared_server: SharedServer) -> AsyncIterator[Door]:
    """A client of the shared server."""
    async with Door(shared_server.url) as door:
        yield door


@pytest.fixture
async def graph() -> AsyncIterator[LoopbackGraph]:
    async with LoopbackGraph() as graph:
        yield graph


@pytest.fixture
async def place(graph: LoopbackGraph, own_database_dsn: str, tmp_path: Path) -> AsyncIterator[Place]:
    """A test's own servers on a database of their own."""
    async with _place(graph, own_database_dsn, tmp_path) as made:
        yield made


@pytest.fixture
async def embedded_place(graph: LoopbackGraph) -> AsyncIterator[Place]:
    """The same on an embedded server under the folder."""
    # Not pytest's folder: it is made private anew by each run, which would shut the server's user out.
    folder = Path(tempfile.mkdtemp(prefix="onevoice-serve-"))
    async with _place(graph, "", folder) as made:
        yield made
    # After a kill its keeper stops the database a moment later.
    assert await asyncio.to_thread(ends, folder / ".onevoice")
    shutil.rmtree(folder)


@asynccontextmanager
async def _place(graph: LoopbackGraph, dsn: str, folder: Path) -> AsyncGenerator[Place]:
    async with AsyncExitStack() as stack:
        place = Place(folder=folder, dsn=dsn, graph=graph, stack=stack)
        try:
            yield place
        finally:
            for server in place.servers:
                server.put_down()
