"""The API over a real database, in this process or as a server on loopback; two accounts with a token each."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest
import uvicorn
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from onevoice.entrypoints.http.api import ApiServices, Principal, Role, create_api
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
from onevoice.store.migrate import migrate
from onevoice.telemetry import Telemetry
from onevoice.testing.manual_clock import ManualClock
from onevoice.vocabulary import AccountId
from tests.builders import Rows, new_id

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

OWN_TOKEN = "own-token"
OTHER_TOKEN = "other-token"


@dataclass
class Keys:
    """An authenticator with one administrator per account."""

    principals: dict[str, Principal] = field(default_factory=dict[str, Principal])

    async def authenticate(self, token: str) -> Principal | None:
        return self.principals.get(token)


@dataclass
class Switch:
    """Whether the process accepts; a test turns it."""

    on: bool = True

    def __call__(self) -> bool:
        return self.on


def ninth_digit_forms(contact: str) -> Sequence[str]:
    """Stands for a channel's own canonical forms: digits, with and without a Brazilian ninth digit."""
    digits = "".join(character for character in contact if character.isdigit())
    if digits.startswith("55") and len(digits) == 12:
        return (f"tel:{digits[:4]}9{digits[4:]}",)
    return (f"tel:{digits}",) if digits else ()


@pytest.fixture(scope="session")
def server_url() -> str:
    return os.environ.get("ONEVOICE_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432")  # noqa: TID251


@pytest.fixture(scope="session")
def database_url(server_url: str) -> Iterator[str]:
    async def create() -> str:
        name = f"onevoice_http_{new_id().hex}"
        connection = await asyncpg.connect(f"{server_url}/postgres")
        await connection.execute(f"create database {name}")
        await connection.close()
        url = f"{server_url}/{name}"
        await migrate(url)
        return url

    async def drop(name: str) -> None:
        connection = await asyncpg.connect(f"{server_url}/postgres")
        await connection.execute(f"drop database {name} with (force)")
        await connection.close()

    url = asyncio.run(create())
    yield url
    asyncio.run(drop(urlsplit(url).path.lstrip("/")))


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
def own_account() -> AccountId:
    return AccountId(f"own {new_id()}")


@pytest.fixture
def other_account() -> AccountId:
    return AccountId(f"other {new_id()}")


@pytest.fixture
def own(owner: Connection, own_account: AccountId) -> Rows:
    """Rows of the account whose token `client` sends."""
    return Rows(owner, own_account)


@pytest.fixture
def other(owner: Connection, other_account: AccountId) -> Rows:
    """Rows of the account whose token `other_client` sends."""
    return Rows(owner, other_account)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def accepting() -> Switch:
    return Switch()


@pytest.fixture
async def feed_database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, role="onevoice_flow", connections_max=2)
    yield database
    await database.close()


@pytest.fixture
async def feed(feed_database: Database) -> AsyncIterator[JournalFeed]:
    async with JournalFeed(feed_database, poll_seconds=0.02) as feed:
        yield feed


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, role="onevoice_api", connections_max=4)
    yield database
    await database.close()


@pytest.fixture
def services(
    database: Database,
    feed: JournalFeed,
    clock: ManualClock,
    telemetry: Telemetry,
    accepting: Switch,
    own_account: AccountId,
    other_account: AccountId,
) -> ApiServices:
    keys = Keys(
        {
            OWN_TOKEN: Principal(account=own_account, operator_id=None, role=Role.ADMIN),
            OTHER_TOKEN: Principal(account=other_account, operator_id=None, role=Role.ADMIN),
        }
    )
    return ApiServices(
        database=database,
        clock=clock,
        telemetry=telemetry,
        authenticator=keys,
        feed=feed,
        canonical_aliases=ninth_digit_forms,
        accepting=accepting,
        keep_alive_seconds=0.05,
    )


@pytest.fixture
def api(services: ApiServices) -> FastAPI:
    return create_api(services)


def caller(api: FastAPI, token: str | None) -> AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    # A fault must reach the caller as an answer; the log has its place.
    transport = ASGITransport(app=api, raise_app_exceptions=False)
    return AsyncClient(transport=transport, base_url="http://onevoice.test", headers=headers)


@pytest.fixture
async def client(api: FastAPI) -> AsyncIterator[AsyncClient]:
    async with caller(api, OWN_TOKEN) as client:
        yield client


@pytest.fixture
async def other_client(api: FastAPI) -> AsyncIterator[AsyncClient]:
    async with caller(api, OTHER_TOKEN) as client:
        yield client


@pytest.fixture
async def stranger(api: FastAPI) -> AsyncIterator[AsyncClient]:
    """A client without a token."""
    async with caller(api, None) as client:
        yield client


@asynccontextmanager
async def listening(api: FastAPI) -> AsyncIterator[str]:
    """A real server on loopback; the socket listens before the server starts, so nobody waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(api, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="api server")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving


@pytest.fixture
async def live_url(api: FastAPI) -> AsyncIterator[str]:
    async with listening(api) as url:
        yield url
