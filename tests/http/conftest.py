"""The API over a real database, in this process or on loopback; two accounts with a token each."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncpg
import pytest
import uvicorn
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from onevoice.entrypoints.http.api import ApiServices, Principal, Role, create_api
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
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
async def feed(database: Database) -> AsyncIterator[JournalFeed]:
    async with JournalFeed(database, poll_seconds=0.02) as feed:
        yield feed


@pytest.fixture
async def api_database(database: Database, database_dsn: str) -> AsyncIterator[Database]:
    """The API role's connections; `database` empties the tables afterwards."""
    opened = await Database.open(database_dsn, role="onevoice_api", connections_max=4)
    yield opened
    await opened.close()


@pytest.fixture
def services(
    api_database: Database,
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
        database=api_database,
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
async def listening(api: FastAPI) -> AsyncGenerator[str]:
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
