"""The API over a real database, in this process or on loopback; two accounts with operators and tokens."""

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

from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.entrypoints.http.api import ApiServices, create_api
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.operators import Principal, Role
from onevoice.flow.runtime import Runtime
from onevoice.settings import Settings
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from onevoice.testing import (
    CountingChance,
    MemoryMediaStore,
    RecordingChannel,
    ScriptedAgent,
    ScriptedDecider,
)
from onevoice.testing.manual_clock import ManualClock
from onevoice.vocabulary import AccountId, OperatorId
from tests.builders import Rows, new_id

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

OWN_TOKEN = "own-token"
OTHER_TOKEN = "other-token"
ANA_TOKEN = "ana-token"
RUI_TOKEN = "rui-token"


@dataclass
class Keys:
    """An authenticator that knows the principals it was given."""

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


async def operator(rows: Rows, name: str, role: Role = Role.OPERATOR) -> Principal:
    """An operator with a row in the account."""
    operator_id = OperatorId(await rows.operator(name, role=role.value))
    return Principal(account=rows.account, operator_id=operator_id, name=name, role=role)


@pytest.fixture
async def root(own: Rows) -> Principal:
    """The administrator whose token `client` sends."""
    return await operator(own, "root", Role.ADMIN)


@pytest.fixture
async def other_root(other: Rows) -> Principal:
    """The administrator whose token `other_client` sends."""
    return await operator(other, "other root", Role.ADMIN)


@pytest.fixture
async def ana(own: Rows) -> Principal:
    """An operator of the own account, no administrator."""
    return await operator(own, "Ana Lima")


@pytest.fixture
async def rui(own: Rows) -> Principal:
    """A second operator of the own account."""
    return await operator(own, "Rui")


@pytest.fixture
def keys(root: Principal, other_root: Principal, ana: Principal, rui: Principal) -> Keys:
    return Keys({OWN_TOKEN: root, OTHER_TOKEN: other_root, ANA_TOKEN: ana, RUI_TOKEN: rui})


@pytest.fixture
def runtime(api_database: Database, clock: ManualClock, telemetry: Telemetry) -> Runtime:
    """What commands run on: the API role's database, and doubles for everything outside."""
    channel = RecordingChannel("loja", clock=clock)
    return Runtime(
        database=api_database,
        clock=clock,
        chance=CountingChance(series=new_id().int & 0xFFFF_FFFF),
        wakeup=InProcessWakeup(clock),
        telemetry=telemetry,
        settings=Settings(),
        channels={channel.name: channel},
        agent=ScriptedAgent(),
        decider=ScriptedDecider(),
        worker="test",
        media=MemoryMediaStore(),
    )


@pytest.fixture
def services(runtime: Runtime, feed: JournalFeed, keys: Keys, accepting: Switch) -> ApiServices:
    return ApiServices(
        database=runtime.database,
        runtime=runtime,
        clock=runtime.clock,
        telemetry=runtime.telemetry,
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
async def as_ana(api: FastAPI) -> AsyncIterator[AsyncClient]:
    async with caller(api, ANA_TOKEN) as client:
        yield client


@pytest.fixture
async def as_rui(api: FastAPI) -> AsyncIterator[AsyncClient]:
    async with caller(api, RUI_TOKEN) as client:
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
