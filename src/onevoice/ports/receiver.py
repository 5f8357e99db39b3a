"""Whoever is told of handoffs, parked, failed and unknown messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from onevoice.vocabulary import AccountId, ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What happened, by ids and codes only. ``id`` is the receiver's key against doubles: delivery is at least once."""

    id: UUID
    account: AccountId
    conversation_id: ConversationId | None
    kind: str
    reason: str | None
    data: Mapping[str, object]
    at: datetime


class Receiver(Protocol):
    async def tell(self, notification: Notification) -> bool:
        """Whether the receiver took it; never raises for a receiver that is away."""
        ...
