"""A chat site for tests: the real routes, feed and database; a small stand-in for the steps behind them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import uvicorn
from starlette.applications import Starlette

from onevoice.adapters.channels.webchat import WebchatChannel
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.http.webchat import WebchatPage, WebchatServices, webchat_routes
from onevoice.errors import DatabaseUnavailable
from onevoice.ports.channel import Channel, Item, MessageItem, StatusItem
from onevoice.ports.clock import Clock
from onevoice.store.database import Database
from onevoice.testing import MemoryMediaStore
from onevoice.vocabulary import AccountId, ChannelName
from tests.builders import Rows, new_id

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

SECRET = b"a secret of thirty-two bytes ...."
ACCOUNT = AccountId("default")


@dataclass
class Site:
    """``receive`` stores what the inbound and receipt steps would; the rest is the business's side."""

    database: Database
    feed: JournalFeed
    clock: Clock
    connection: Connection
    public_url: str = ""
    pages: dict[str, WebchatPage] = field(default_factory=dict[str, WebchatPage])
    received: list[Item] = field(default_factory=list[Item])
    is_down: bool = False
    media: MemoryMediaStore = field(default_factory=MemoryMediaStore)

    def __post_init__(self) -> None:
        self.rows = Rows(self.connection, ACCOUNT)
        # One connection cannot run two statements at once.
        self._lock = asyncio.Lock()

    def add_page(self, name: str = "loja", **looks: object) -> WebchatPage:
        channel = WebchatChannel(name=ChannelName(name), account=ACCOUNT, clock=self.clock)
        self.pages[name] = WebchatPage(channel=channel, **looks)  # type: ignore[arg-type]
        return self.pages[name]

    def app(self) -> Starlette:
        services = WebchatServices(
            database=self.database,
            feed=self.feed,
            clock=self.clock,
            secret=SECRET,
            find_page=self.pages.get,
            receive=self.receive,
            media=self.media,
            public_url=self.public_url,
        )
        return Starlette(routes=list(webchat_routes(services)))

    async def receive(self, channel: Channel, items: Sequence[Item]) -> None:
        if self.is_down:
            raise DatabaseUnavailable
        self.received += items
        async with self._lock, self.connection.transaction():
            for item in items:
                if isinstance(item, MessageItem):
                    await self._store_message(channel, item)
                elif isinstance(item, StatusItem):
                    await self._store_status(item)

    async def conversation(self, visitor: str, *, channel: str = "loja") -> UUID:
        async with self._lock:
            return await self._conversation(channel, visitor, None)

    async def say(
        self,
        conversation_id: UUID,
        text: str,
        *,
        state: str = "sent",
        author: str = "system",
        **columns: object,
    ) -> UUID:
        """A message of the business, in the given state."""
        async with self._lock, self.connection.transaction():
            now = await self._now()
            visitor = await self.connection.fetchval(
                "select contact_address from conversation where id = $1", conversation_id
            )
            key = f"key {new_id()}"
            row: dict[str, object] = {
                "key": key,
                "sealed_at": now,
                "due_at": now,
                "sent_at": now if state in {"sent", "delivered", "read", "played"} else None,
                "external_id": f"webchat:{visitor}:{key}",
            }
            outbound_id = await self.rows.outbound(
                conversation_id, text=text, state=state, author=author, **(row | columns)
            )
            await self.rows.journal("outbound", conversation_id, subject_id=outbound_id, at=now)
        self.feed.nudge()
        return outbound_id

    async def keep_file(self, content: bytes, mime_type: str, *, kind: str = "image") -> UUID:
        """A file that the business handed in."""
        media = new_id()
        self.media.files[f"{ACCOUNT}/{media}"] = content
        async with self._lock:
            await self.connection.execute(
                "insert into media (account_id, id, kind, state, mime_type, size_bytes, created_at) "
                "values ($1, $2, $3, 'stored', $4, $5, now())",
                ACCOUNT,
                media,
                kind,
                mime_type,
                len(content),
            )
        return media

    async def change(self, table: str, row_id: UUID, conversation_id: UUID, **columns: object) -> None:
        """Set columns of one row, with the journal entry that every change has."""
        assignments = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, start=2))
        async with self._lock, self.connection.transaction():
            await self.connection.execute(
                f"update {table} set {assignments} where id = $1",  # noqa: S608 - Names are ours.
                row_id,
                *columns.values(),
            )
            await self.rows.journal(table, conversation_id, subject_id=row_id, at=await self._now())
        self.feed.nudge()

    async def think(self, conversation_id: UUID, *, is_thinking: bool) -> None:
        """Begin or end a turn, as far as the visitor can tell."""
        turn_id = new_id() if is_thinking else None
        await self.change("conversation", conversation_id, conversation_id, running_turn_id=turn_id)

    async def texts(self) -> list[str]:
        """Every stored text of a visitor, in order."""
        async with self._lock:
            rows = await self.connection.fetch("select text from inbound_message order by seq")
        return [row["text"] for row in rows]

    async def outbound_states(self) -> dict[str, str]:
        async with self._lock:
            rows = await self.connection.fetch("select text, state from outbound_message order by seq")
        return {row["text"]: row["state"] for row in rows}

    async def _store_message(self, channel: Channel, item: MessageItem) -> None:
        conversation_id = await self._conversation(channel.name, item.contact.address, item.contact.name)
        known = await self.connection.fetchval(
            "select 1 from inbound_message where channel = $1 and external_id = $2",
            channel.name,
            item.external_id,
        )
        if known:
            return
        now = await self._now()
        message_id = await self.rows.inbound(
            conversation_id,
            text=item.text,
            channel=channel.name,
            external_id=item.external_id,
            raw=item.raw,
            received_at=now,
        )
        await self.rows.journal("inbound", conversation_id, subject_id=message_id, at=now)

    async def _store_status(self, item: StatusItem) -> None:
        row = await self.connection.fetchrow(
            "update outbound_message set state = $2 where external_id = $1 returning id, conversation_id",
            item.external_id,
            item.status,
        )
        if row is not None:
            await self.rows.journal(
                "outbound", row["conversation_id"], subject_id=row["id"], at=await self._now()
            )

    async def _conversation(self, channel: str, visitor: str, name: str | None) -> UUID:
        alias = f"visitor:{visitor}"
        known: UUID | None = await self.connection.fetchval(
            "select conversation_id from contact_alias where channel = $1 and alias = $2", channel, alias
        )
        return known or await self.rows.conversation(
            channel=channel, address=visitor, name=name, aliases=(alias,)
        )

    async def _now(self) -> datetime:
        now: datetime = await self.connection.fetchval("select clock_timestamp()")
        return now


@asynccontextmanager
async def serve(app: Starlette, feed: JournalFeed) -> AsyncIterator[str]:
    """The app on a free port of loopback; stops the feed at the end, so that streams end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="chat server")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await feed.stop()
            server.should_exit = True
            await serving
