"""What a visitor may see of their conversation, as the page's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from onevoice.entrypoints.http.feed import Position
from onevoice.entrypoints.http.files import SHOWN_IN_PLACE
from onevoice.ports.clock import Clock
from onevoice.store.database import Database, Row, Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import (
    AccountId,
    AuthorityState,
    ChannelName,
    ConversationId,
    Media,
    MediaId,
    MediaKind,
    MediaState,
)

__all__ = ["PAGE_ITEMS", "Item", "Items", "View"]

SQL = load_statements(__package__)
PAGE_ITEMS = 100

# A message's states only go forward for the visitor, so the rank serves as the item's version.
_RANKS = {"received": 1, "seen": 2, "sent": 1, "delivered": 2, "read": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an item stands in the conversation; its text form sorts the same way."""

    at: datetime
    direction: str
    seq: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        at, first, rest = text.partition("/")
        direction, second, seq = rest.partition("/")
        if not (first and second) or direction not in {"in", "out"}:
            return None
        if not (seq.isascii() and seq.isdigit() and len(seq) <= 18):
            return None
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            return None
        return cls(at=moment, direction=direction, seq=int(seq)) if moment.tzinfo else None

    def __str__(self) -> str:
        return f"{_timestamp(self.at)}/{self.direction}/{self.seq:018d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One bubble. ``key`` is stable for ever; applying an item twice changes nothing.

    ``file`` is what it carries, ``choices`` are the titles that can be tapped below it.
    """

    key: str
    place: Place
    author: str
    text: str
    state: str
    file: dict[str, object] | None = None
    choices: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        return _RANKS[self.state]

    def as_json(self) -> dict[str, object]:
        return {
            "key": self.key,
            "order": str(self.place),
            "at": _timestamp(self.place.at),
            "author": self.author,
            "text": self.text,
            "state": self.state,
            "version": self.version,
            **({"file": self.file} if self.file else {}),
            **({"choices": self.choices} if self.choices else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Oldest first; ``has_earlier`` says that the conversation goes on before the first."""

    items: tuple[Item, ...]
    has_earlier: bool

    def as_json(self) -> dict[str, object]:
        return {"items": [item.as_json() for item in self.items], "has_earlier": self.has_earlier}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Reads for one visitor's conversation, each in a transaction that sees its account alone."""

    database: Database
    clock: Clock
    account: AccountId
    visitor: str
    conversation_id: ConversationId

    @classmethod
    async def find(
        cls, database: Database, clock: Clock, *, account: AccountId, channel: ChannelName, visitor: str
    ) -> Self | None:
        """The visitor's conversation; ``None`` before their first message is stored."""
        async with database.transaction("webchat", account=account) as transaction:
            row = await transaction.fetch_one(
                SQL["find_visitor_conversation"], account, channel, f"visitor:{visitor}"
            )
        if row is None:
            return None
        return cls(
            database=database,
            clock=clock,
            account=account,
            visitor=visitor,
            conversation_id=row["conversation_id"],
        )

    async def now(self) -> tuple[Items, dict[str, object]]:
        """The newest items; and whether somebody is typing and a human has the conversation."""
        async with self._reading() as transaction:
            items = await self._items(transaction, before=None)
            row = await transaction.fetch_one(
                SQL["read_visitor_state"], self.account, self.conversation_id, self.clock.now()
            )
        return items, {
            "typing": bool(row and row["is_typing"]),
            "human": bool(row and row["authority_state"] == AuthorityState.HUMAN_ACTIVE),
        }

    async def earlier(self, before: Place) -> Items:
        """A page of items before a place."""
        async with self._reading() as transaction:
            return await self._items(transaction, before=before)

    async def has_changed_since(self, position: Position) -> bool:
        """Whether the journal has an entry of the conversation after this position."""
        async with self._reading() as transaction:
            rows = await transaction.fetch(
                SQL["has_changed_since"], self.account, self.conversation_id, *position
            )
        return bool(rows[0]["changed"])

    async def receipt_targets(self, ids: Sequence[str], *, status: str) -> list[str]:
        """The channel's ids of those messages that the receipt moves forward; never another visitor's."""
        async with self._reading() as transaction:
            rows = await transaction.fetch(
                SQL["find_receipt_targets"], self.account, self.conversation_id, ids, status
            )
        return [row["external_id"] for row in rows]

    async def file(self, outbound_id: UUID) -> Media | None:
        """The file of a message that the visitor may see."""
        async with self._reading() as transaction:
            row = await transaction.fetch_one(
                SQL["find_visitor_file"], self.account, self.conversation_id, outbound_id
            )
        if row is None:
            return None
        return Media(
            id=MediaId(row["id"]),
            kind=MediaKind(row["kind"]),
            state=MediaState(row["state"]),
            mime_type=row["mime_type"],
            filename=row["filename"],
            size_bytes=row["size_bytes"],
        )

    def _reading(self) -> AbstractAsyncContextManager[Transaction]:
        return self.database.transaction("webchat", account=self.account)

    async def _items(self, transaction: Transaction, *, before: Place | None) -> Items:
        rows = await transaction.fetch(
            SQL["read_visitor_items"],
            self.account,
            self.conversation_id,
            PAGE_ITEMS + 1,
            before.at if before else None,
            before.direction if before else None,
            before.seq if before else None,
        )
        shown = rows[:PAGE_ITEMS]
        return Items(
            items=tuple(self._read_item(row) for row in reversed(shown)), has_earlier=len(rows) > PAGE_ITEMS
        )

    def _read_item(self, row: Row) -> Item:
        place = Place(at=row["at"], direction=row["direction"], seq=row["seq"])
        if row["direction"] == "in":
            name = str(row["id"]).removeprefix(f"{self.visitor}:")
            state = "received" if row["state"] == "open" else "seen"
        else:
            name = row["id"]
            state = "read" if row["state"] == "played" else row["state"]
        return Item(
            key=f"{row['direction']}:{name}",
            place=place,
            author=row["author"],
            text=_words(row),
            state=state,
            file=_file(row),
            choices=_choices(row["payload"]),
        )


def _words(row: Row) -> str:
    """The text itself; a file has its caption, and no words in brackets beside what is shown of it."""
    payload = row["payload"]
    return str(payload.get("caption", "") if "media" in payload else row["text"] or "")


def _file(row: Row) -> dict[str, object] | None:
    payload = row["payload"]
    if "media" not in payload:
        return None
    return {
        "id": row["id"],
        "type": payload["type"],
        "in_place": row["mime_type"] in SHOWN_IN_PLACE,
        "filename": payload.get("filename"),
        "size_bytes": row["size_bytes"],
    }


def _choices(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """The titles that can be tapped, in their order."""
    rows = [row for section in payload.get("sections", ()) for row in section["rows"]]
    return tuple(str(choice["title"]) for choice in (*payload.get("buttons", ()), *rows))


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
