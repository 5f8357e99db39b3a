"""Rows for tests: small builders that insert what a step would have left behind.

Times are seconds after ``START``; ids are random unless given. Every builder returns the row's id.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7  # noqa: TID251 - Rows made here need ids that differ between runs.

from onevoice.testing.manual_clock import START
from onevoice.vocabulary import AccountId

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]


def at(seconds: float) -> datetime:
    """The instant so many seconds after ``START``."""
    return START + timedelta(seconds=seconds)


def new_id() -> UUID:
    return uuid7()


class Rows:
    """Inserts rows of one account, each committed by itself, over a connection of the schema's owner."""

    def __init__(self, connection: Connection, account: AccountId) -> None:
        self.connection = connection
        self.account = account

    async def insert(self, table: str, columns: dict[str, object]) -> None:
        """Insert one row; dicts become jsonb."""
        values = [json.dumps(value) if isinstance(value, dict) else value for value in columns.values()]
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        await self.connection.execute(
            f"insert into {table} ({', '.join(columns)}) values ({places})",  # noqa: S608 - Names are ours.
            *values,
        )

    async def channel(self, name: str, *, kind: str = "whatsapp") -> str:
        await self.insert("channel", {"account_id": self.account, "name": name, "kind": kind})
        return name

    async def conversation(
        self,
        *,
        active: float = 0.0,
        channel: str = "loja",
        address: str = "5511999990000",
        name: str | None = "Ana",
        aliases: tuple[str, ...] = (),
        **columns: object,
    ) -> UUID:
        """``columns`` are any others of the table, such as ``authority_state``."""
        conversation_id = new_id()
        row: dict[str, object] = {
            "account_id": self.account,
            "id": conversation_id,
            "channel": channel,
            "contact_address": address,
            "contact_name": name,
            "authority_since": at(0),
            "last_activity_at": at(active),
        }
        await self.insert("conversation", row | columns)
        for alias in aliases:
            await self.alias(conversation_id, alias, channel=channel)
        return conversation_id

    async def alias(self, conversation_id: UUID, alias: str, *, channel: str = "loja") -> None:
        await self.insert(
            "contact_alias",
            {
                "account_id": self.account,
                "channel": channel,
                "alias": alias,
                "conversation_id": conversation_id,
            },
        )

    async def inbound(
        self,
        conversation_id: UUID,
        *,
        received: float = 0.0,
        text: str | None = "oi",
        state: str = "open",
        **columns: object,
    ) -> UUID:
        message_id = new_id()
        row: dict[str, object] = {
            "account_id": self.account,
            "id": message_id,
            "conversation_id": conversation_id,
            "channel": "loja",
            "external_id": f"wamid.{message_id}",
            "type": "text",
            "text": text,
            "state": state,
            "state_reason": None if state in {"open", "claimed"} else "turn_sealed",
            "received_at": at(received),
            "raw": b"{}",
        }
        await self.insert("inbound_message", row | columns)
        return message_id

    async def media(
        self, inbound_id: UUID, *, kind: str = "audio", state: str = "stored", **columns: object
    ) -> UUID:
        """The file of a customer's message."""
        media_id = new_id()
        measured = {"mime_type": "audio/ogg", "size_bytes": 9} if state == "stored" else {}
        row: dict[str, object] = {
            "account_id": self.account,
            "id": media_id,
            "channel": "loja",
            "inbound_id": inbound_id,
            "kind": kind,
            "state": state,
            "reason": "gone" if state == "failed" else None,
            "next_try_at": at(0) if state == "waiting" else None,
            "created_at": at(0),
        }
        await self.insert("media", row | measured | columns)
        return media_id

    async def turn(
        self,
        conversation_id: UUID,
        message_ids: list[UUID],
        *,
        started: float = 0.0,
        state: str = "sealed",
        reason: str | None = "answered",
        **columns: object,
    ) -> UUID:
        turn_id = new_id()
        row: dict[str, object] = {
            "account_id": self.account,
            "id": turn_id,
            "conversation_id": conversation_id,
            "state": state,
            "reason": None if state == "running" else reason,
            "attempt": 1,
            "authority_version": 1,
            "while_running": "discard_unless_wrote",
            "configuration_version": "c1",
            "message_ids": message_ids,
            "arrivals_seen": len(message_ids),
            "open_since": at(started),
            "worker": "w1",
            "started_at": at(started),
            "lease_until": at(started + 30),
            "ended_at": None if state == "running" else at(started + 1),
        }
        await self.insert("turn", row | columns)
        return turn_id

    async def effect(
        self,
        conversation_id: UUID,
        *,
        started: float = 0.0,
        tool: str = "book",
        state: str = "done",
        **columns: object,
    ) -> UUID:
        effect_id = new_id()
        row: dict[str, object] = {
            "account_id": self.account,
            "id": effect_id,
            "conversation_id": conversation_id,
            "authority_version": 1,
            "tool": tool,
            "args": {"day": "sexta"},
            "key": f"key {effect_id}",
            "state": state,
            "started_at": at(started),
            "not_after": at(started + 30),
            "finished_at": None if state in {"awaiting", "started"} else at(started + 1),
        }
        await self.insert("effect", row | columns)
        return effect_id

    async def operator(self, name: str, *, role: str = "operator") -> UUID:
        operator_id = new_id()
        row: dict[str, object] = {
            "account_id": self.account,
            "id": operator_id,
            "name": name,
            "role": role,
            "created_at": at(0),
        }
        await self.insert("operator", row)
        return operator_id

    async def outbound(
        self,
        conversation_id: UUID,
        *,
        sealed: float = 0.0,
        author: str = "system",
        text: str = "Olá!",
        state: str = "sent",
        **columns: object,
    ) -> UUID:
        outbound_id = new_id()
        needs_reason = state in {"failed", "parked", "uncertain", "cancelled", "superseded", "revoked"}
        row: dict[str, object] = {
            "account_id": self.account,
            "id": outbound_id,
            "conversation_id": conversation_id,
            "channel": "loja",
            "author": author,
            "key": f"key {outbound_id}",
            "text": text,
            "state": state,
            "reason": "because" if needs_reason else None,
            "authority_version": 1,
            "sealed_at": at(sealed),
            "due_at": at(sealed),
            "not_after": at(sealed + 10) if state == "sending" else None,
            "uncertain_until": at(sealed + 90) if state == "uncertain" else None,
        }
        await self.insert("outbound_message", row | columns)
        return outbound_id

    async def journal(
        self,
        kind: str,
        conversation_id: UUID | None = None,
        *,
        written: float = 0.0,
        data: dict[str, object] | None = None,
        **columns: object,
    ) -> int:
        row: dict[str, object] = {
            "account_id": self.account,
            "kind": kind,
            "conversation_id": conversation_id,
            "at": at(written),
            "data": data or {},
        }
        await self.insert("journal", row | columns)
        newest: int = await self.connection.fetchval(
            "select max(id) from journal where account_id = $1", self.account
        )
        return newest
