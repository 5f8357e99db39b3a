"""The facts of one locked conversation, as every decision reads them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from onevoice.vocabulary import (
    AccountId,
    AuthorityState,
    ChannelName,
    ConversationId,
    EffectId,
    MessageId,
    OperatorId,
    OutboundId,
    TurnId,
)


class Row(Protocol):
    """A row of a query: columns by name."""

    def __getitem__(self, name: str, /) -> Any: ...


class ConversationKey(NamedTuple):
    """Names one conversation; sorts in the order in which conversations are locked."""

    account: AccountId
    id: ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation's row, read under its lock. ``now`` is the instant every comparison uses."""

    key: ConversationKey
    now: datetime
    channel: ChannelName
    contact_address: str
    contact_name: str | None
    authority_state: AuthorityState
    authority_version: int
    authority_owner: OperatorId | None
    authority_reason: str | None
    authority_note: str | None
    authority_since: datetime
    arrival_count: int
    arrivals_decided: int
    open_since: datetime | None
    turn_due_at: datetime | None
    running_turn_id: TurnId | None
    reply_waiting: bool
    lost_turn_count: int
    agent_failure_count: int
    agent_failing_since: datetime | None
    window_expires_at: datetime | None
    pair_spent_count: float
    pair_spent_at: datetime | None
    pair_slow_count: int
    last_inbound_at: datetime | None
    last_activity_at: datetime
    echo_wait_until: datetime | None
    released_at: datetime | None
    held_by_hand: bool
    loop_started_at: datetime | None
    loop_turn_count: int


Subject = MessageId | TurnId | OutboundId | EffectId | OperatorId


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal: what was decided about which subject, and why. Never a customer's words."""

    kind: str
    conversation: ConversationKey
    subject: Subject | None = None
    state: str | None = None
    reason: str | None = None
    data: Mapping[str, object] = field(default_factory=dict[str, object])
