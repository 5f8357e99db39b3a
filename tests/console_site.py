"""The operator console for tests: the real routes, sessions, steps and database; a customer and a channel in the
test's hands. With ``works`` the loops of a process run behind it, in real time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import uvicorn
from argon2 import PasswordHasher
from starlette.applications import Starlette

from onevoice.adapters.chance import SystemChance
from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.app import canonical_aliases
from onevoice.entrypoints.console import ConsoleServices, console_routes
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.operators import Operator, Operators, Passwords, Role, Sessions
from onevoice.entrypoints.worker import Worker
from onevoice.flow.authority.command import Actor, give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.runtime import Runtime
from onevoice.ports.clock import Clock
from onevoice.settings import Settings
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from onevoice.testing import (
    MemoryMediaStore,
    RecordingChannel,
    ScriptedAgent,
    ScriptedDecider,
    ScriptedTranscriber,
)
from onevoice.vocabulary import AccountId, ConversationId
from tests.builders import Rows

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ACCOUNT = AccountId("default")
PASSWORD = "a password of the test"
SETTINGS = {
    "turns": {"debounce_seconds": 0.0},
    "outbox": {"part_interval_seconds": 0.0, "send_timeout_seconds": 5.0},
}


@dataclass(kw_only=True)
class ConsoleSite:
    """``services`` is what the routes use; ``runtime`` works across accounts, as the loops of a process do."""

    runtime: Runtime
    services: ConsoleServices
    channel: RecordingChannel
    agent: ScriptedAgent
    transcriber: ScriptedTranscriber
    intake: Intake
    operators: Operators
    rows: Rows
    feed: JournalFeed
    _message_count: int = 0

    def app(self) -> Starlette:
        return Starlette(routes=list(console_routes(self.services)))

    async def operator(
        self, name: str, *, role: Role = Role.OPERATOR, account: AccountId = ACCOUNT
    ) -> Operator:
        return await self.operators.add(account, name, role=role, password=PASSWORD)

    async def write(
        self, text: str, *, contact: str = "ana", name: str = "Ana Souza", **fields: object
    ) -> ConversationId:
        """A customer's message, through the door a webhook takes."""
        self._message_count += 1
        item = {"id": f"m{self._message_count}", "from": contact, "text": text, "name": name, **fields}
        items = self.channel.parse(self.channel.webhook(item).body)
        received = await self.intake.take(self.channel, items)
        self.feed.nudge()
        return received[0].conversation.id

    async def send_file(
        self, text: str, content: bytes | None, *, type: str, filename: str | None = None
    ) -> ConversationId:
        """A customer's message with a file; ``content`` ``None``: the channel does not have it any more."""
        name = f"file-{self._message_count + 1}"
        if content is not None:
            self.channel.files[name] = content
        media = {"kind": type, "id": name, "filename": filename}
        return await self.write(text, type=type, media=media)

    async def command(
        self, conversation: UUID, command: Command, operator: Operator | None = None, **details: str
    ) -> None:
        """What somebody does elsewhere; without an operator, what the runtime does by itself."""
        actor = Actor(operator=operator.id if operator else None, is_admin=operator is None)
        key = ConversationKey(ACCOUNT, ConversationId(conversation))
        await give_command(self.runtime, key, command, actor=actor, **details)  # type: ignore[arg-type]
        self.feed.nudge()

    async def waiting(self, text: str = "preciso de ajuda", **contact: str) -> ConversationId:
        """A customer who waits for a person."""
        conversation = await self.write(text, **contact)
        await self.command(conversation, Command.REQUEST_HANDOFF)
        return conversation

    async def sent_texts(self, count: int) -> list[str]:
        """What the customer got, once it is so many."""
        await self.channel.called(count)
        async with asyncio.timeout(10):
            while len(self.channel.sent) < count:
                await self.rows.connection.fetchval("select 1")
        return [delivery.text for delivery in self.channel.sent]

    async def authority(self, conversation: UUID) -> tuple[str, UUID | None]:
        row = await self.rows.connection.fetchrow(
            "select authority_state, authority_owner from conversation where id = $1", conversation
        )
        assert row is not None
        return row["authority_state"], row["authority_owner"]


@asynccontextmanager
async def console_site(
    database: Database,
    api_database: Database,
    connection: Connection,
    *,
    clock: Clock,
    works: bool = False,
    settings: dict[str, object] | None = None,
    public_url: str = "",
) -> AsyncGenerator[ConsoleSite]:
    """A site whose tables are empty; with ``works``, what is sealed leaves and what is open is answered."""
    channel, agent = RecordingChannel("loja"), ScriptedAgent(otherwise="Certo!")
    transcriber = ScriptedTranscriber()
    runtime = Runtime(
        database=database,
        clock=clock,
        chance=SystemChance(),
        wakeup=InProcessWakeup(clock),
        telemetry=Telemetry(),
        settings=Settings.model_validate(SETTINGS | (settings or {})),
        channels={channel.name: channel},
        agent=agent,
        decider=ScriptedDecider(),
        worker="test",
        media=MemoryMediaStore(),
        transcriber=transcriber,
    )
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    worker = Worker(runtime)
    async with JournalFeed(database, poll_seconds=0.02) as feed:
        services = ConsoleServices(
            database=api_database,
            runtime=replace(runtime, database=api_database),
            sessions=Sessions(database, clock=clock, passwords=passwords),
            feed=feed,
            canonical_aliases=canonical_aliases,
            public_url=public_url,
            beat_seconds=0.2,
        )
        if works:
            worker.start()
        try:
            yield ConsoleSite(
                runtime=runtime,
                services=services,
                channel=channel,
                agent=agent,
                transcriber=transcriber,
                intake=Intake(runtime),
                operators=Operators(database, clock=clock, chance=SystemChance(), passwords=passwords),
                rows=Rows(connection, ACCOUNT),
                feed=feed,
            )
        finally:
            if works:
                await worker.drain(1.0)


@asynccontextmanager
async def serve_console(site: ConsoleSite) -> AsyncGenerator[str]:
    """A real server on loopback; the socket listens before the server starts, so nobody waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(site.app(), log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="console server")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            # Streams end with the feed; then the server has nothing to wait for.
            await site.feed.stop()
            server.should_exit = True
            await serving
