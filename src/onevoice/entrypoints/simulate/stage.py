"""A server with everything around it: the channel's and the agent's stand-ins, the journal and two operators."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, cast

import httpx2

from onevoice.app import open_database
from onevoice.entrypoints.operators import Operators, Passwords, Role
from onevoice.entrypoints.simulate.conversation_agent import (
    AgentCall,
    ConversationAgent,
    Json,
    Lines,
    saying,
)
from onevoice.entrypoints.simulate.customer import Number, Webhook, message_webhook, text_content
from onevoice.entrypoints.simulate.journal import Journal
from onevoice.entrypoints.simulate.server import Sections, ServerProcess
from onevoice.entrypoints.simulate.stopwatch import wall_seconds
from onevoice.errors import EmbeddedServerFailed, ScenarioStuck
from onevoice.ports.chance import Chance
from onevoice.ports.clock import Clock
from onevoice.settings import load_settings
from onevoice.store.embedded.server import unused_cluster
from onevoice.testing import GraphRequest, LoopbackGraph
from onevoice.testing.transcription_server import LoopbackTranscription
from onevoice.vocabulary import AccountId

OPERATOR_NAMES = ("Ana", "Bruno")
ACCOUNT = AccountId("default")
HTTP_SECONDS_MAX = 30.0
# More than a scenario posts at once: webhooks must not wait for one another on this side.
CONNECTIONS_MAX = 200
WARM_SECONDS_MAX = 5.0
_LOOK_SECONDS = 0.01


class Stage:
    """One server and its surroundings. Scenarios that share it have conversations of their own."""

    def __init__(
        self, *, sections: Sections, folder: Path, imports_from: Path | None, clock: Clock, chance: Chance
    ) -> None:
        self.clock = clock
        self.token = secrets.token_urlsafe(24)
        self._access_token = secrets.token_urlsafe(24)
        self._agent_secret = secrets.token_urlsafe(24)
        self.graph = LoopbackGraph(access_token=self._access_token)
        self.agent = ConversationAgent(self._agent_secret)
        self.transcription = LoopbackTranscription()
        self.journal = Journal()
        self.operators: dict[str, str] = {}
        """Their tokens by name."""
        self.number = Number(
            channel="loja",
            phone_number_id="100000000000001",
            app_secret=secrets.token_urlsafe(24),
        )
        self._sections = sections
        self._folder = folder
        self._imports_from = imports_from
        self._chance = chance
        self._graph_offset = 0.0
        self._http: httpx2.AsyncClient | None = None
        self._server: ServerProcess | None = None
        self._following = contextlib.AsyncExitStack()

    @property
    def http(self) -> httpx2.AsyncClient:
        if self._http is None:
            raise RuntimeError("the stage is not open; use it as an async context manager")
        return self._http

    @property
    def server(self) -> ServerProcess:
        if self._server is None:
            raise RuntimeError("the stage is not open; use it as an async context manager")
        return self._server

    @property
    def url(self) -> str:
        return self.server.url

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[Stage]:
        """Start everything; whatever ends the block, nothing of it is left running."""
        limits = httpx2.Limits(max_connections=CONNECTIONS_MAX)
        async with (
            self.graph,
            self.agent.server,
            self.transcription,
            httpx2.AsyncClient(trust_env=False, timeout=HTTP_SECONDS_MAX, limits=limits) as self._http,
        ):
            self._graph_offset = wall_seconds() - asyncio.get_running_loop().time()
            self._server = ServerProcess(
                self._folder,
                sections=self._complete(self._sections),
                channel=self._channel(),
                imports_from=self._imports_from,
                token=self.token,
                clock=self.clock,
            )
            try:
                await self.start_server()
                await _whatever_happens(self._add_operators())
                yield self
            finally:
                # The journal's stream is let go first: a draining server would wait for it.
                await self._following.aclose()
                await self._server.stop()
                await asyncio.to_thread(_wait_until_unused, self._folder / "data")

    async def start_server(self) -> None:
        """Start it, or start it again after ``kill_server``, on the same data."""
        await self.server.start()
        await self._following.enter_async_context(
            self.journal.following(self.http, self.server.url, self.token)
        )

    def kill_server(self) -> None:
        self.server.kill()

    async def warm_up(self) -> None:
        """One conversation that nobody watches: the first one through a new process pays for its connections."""
        contact = "5511900000000"

        async def answer(_: AgentCall) -> Json:
            return saying("oi")

        self.agent.enter(contact, Lines(answering=answer))
        webhook = message_webhook(
            self.number,
            contact=contact,
            name="Warm-up",
            external_id="wamid.SIMULATE.WARM",
            content=text_content("oi"),
        )
        await self.post_webhook(webhook)
        await self.wait_for(lambda: bool(self.graph.messages), seconds_max=WARM_SECONDS_MAX)

    async def post_webhook(self, webhook: Webhook) -> int:
        """Its status."""
        url = f"{self.url}/webhooks/{self.number.channel}"
        try:
            response = await self.http.post(url, content=webhook.body, headers=webhook.headers)
        except httpx2.TransportError as error:
            raise ScenarioStuck(f"the webhook is answered; found: {type(error).__name__}") from None
        return response.status_code

    async def get(self, path: str, **parameters: str) -> dict[str, Any]:
        """An answer of the operator API."""
        headers = {"authorization": f"Bearer {self.token}"}
        response = await self.http.get(f"{self.url}/api/v1{path}", params=parameters, headers=headers)
        if not response.is_success:
            raise ScenarioStuck(f"the API answers GET {path}; found: {response.status_code}")
        return cast("dict[str, Any]", response.json())

    async def find_conversation(self, contact: str) -> str:
        page = await self.get("/conversations", contact=contact)
        found = [str(item["id"]) for item in page["items"]]
        if len(found) != 1:
            raise ScenarioStuck(f"the contact has one conversation; found: {len(found)}")
        return found[0]

    def graph_seconds(self, message: GraphRequest) -> float:
        """When the channel got it, in wall time."""
        return message.at + self._graph_offset

    async def wait_for(self, holds: Callable[[], bool], *, seconds_max: float) -> bool:
        """Look again and again; false when the time is over."""
        until = self.clock.monotonic() + seconds_max
        while not holds():
            if self.clock.monotonic() > until:
                return False
            await self.clock.sleep(_LOOK_SECONDS)
        return True

    def _complete(self, sections: Sections) -> Mapping[str, Mapping[str, object]]:
        return {
            **sections,
            "database": {"data_dir": str(self._folder / "data")},
            "agent": {"use": self.agent.server.url, "secret": self._agent_secret},
            "transcription": {"url": self.transcription.url, "api_key": "loopback"},
        }

    def _channel(self) -> Mapping[str, object]:
        return {
            "name": self.number.channel,
            "kind": "whatsapp",
            "phone_number_id": self.number.phone_number_id,
            "access_token": self._access_token,
            "app_secret": self.number.app_secret,
            "verify_token": secrets.token_urlsafe(12),
            "graph_url": self.graph.url,
        }

    async def _add_operators(self) -> None:
        settings = load_settings(self.server.configuration, {})
        async with open_database(settings) as (database, _):
            operators = Operators(database, clock=self.clock, chance=self._chance, passwords=Passwords())
            for name in OPERATOR_NAMES:
                operator = await operators.add(ACCOUNT, name, role=Role.OPERATOR)
                self.operators[name] = await operators.give_token(operator)


async def _whatever_happens(work: Coroutine[Any, Any, None]) -> None:
    """Finish it even when cancelled: it holds the database, whose files are about to be removed."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _wait_until_unused(data_dir: Path) -> None:
    """Whoever tidies up after a killed process needs the database's files until it has ended."""
    for _ in range(5):
        with contextlib.suppress(EmbeddedServerFailed), unused_cluster(data_dir):
            return
