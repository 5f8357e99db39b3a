"""Store what a webhook brought: one statement for all messages of a batch, committed before the 2xx."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from onevoice.flow.conversation import ConversationKey, Row
from onevoice.flow.inbound.decide import (
    Stored,
    Window,
    awaits_media,
    choose_first_state,
    choose_window,
    replaces_address,
)
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import MessageItem, UnknownItem
from onevoice.ports.wakeup import Work
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ChannelName, ConversationId, MediaKind, TurnId

SQL = load_statements(__package__)

# Derived ids save a look-up: two processes that meet a contact for the first time agree without talking.
CONVERSATION_NAMESPACE = UUID("6f6e6566-766f-4963-8500-000000000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What became of one item. ``running_turn`` is the turn that this message may have overtaken.

    ``is_awaited``: an edit or revoke had come before it. ``is_split``: its contact has two conversations so far.
    """

    conversation: ConversationKey
    is_new: bool
    is_awaited: bool = False
    is_split: bool = False
    running_turn: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One message item with the channel it belongs to."""

    account: AccountId
    channel: ChannelName
    item: MessageItem


def derive_conversation_id(account: AccountId, channel: ChannelName, contact_key: str) -> ConversationId:
    return ConversationId(uuid5(CONVERSATION_NAMESPACE, f"{account}\n{channel}\n{contact_key}"))


async def receive(runtime: Runtime, arrivals: Sequence[Arrival]) -> Sequence[Received]:
    """Store a batch of messages; an item seen before changes nothing. Durable when this returns."""
    stored = [choose_first_state(arrival.item) for arrival in arrivals]
    aliases = [
        (ord, position, alias)
        for ord, arrival in enumerate(arrivals, start=1)
        for position, alias in enumerate(
            dict.fromkeys((arrival.item.contact.key, *arrival.item.contact.aliases))
        )
    ]
    turns = runtime.settings.turns
    windows = [_window(runtime, arrival, first) for arrival, first in zip(arrivals, stored, strict=True)]
    rows = await runtime.database.run(
        "receive",
        SQL["receive_messages"],
        runtime.clock.now(),
        [arrival.account for arrival in arrivals],
        [arrival.channel for arrival in arrivals],
        [arrival.item.external_id for arrival in arrivals],
        [runtime.chance.new_id() for _ in arrivals],
        [
            derive_conversation_id(arrival.account, arrival.channel, arrival.item.contact.key)
            for arrival in arrivals
        ],
        [arrival.item.contact.address for arrival in arrivals],
        [replaces_address(arrival.item.contact) for arrival in arrivals],
        [arrival.item.contact.name for arrival in arrivals],
        [first.is_arrival for first in stored],
        [first.state.value for first in stored],
        [first.reason for first in stored],
        [arrival.item.type for arrival in arrivals],
        [arrival.item.text for arrival in arrivals],
        [arrival.item.target_external_id for arrival in arrivals],
        [first.target_pending for first in stored],
        [arrival.item.reply_to_external_id for arrival in arrivals],
        [arrival.item.sent_at for arrival in arrivals],
        [arrival.item.opens_window_until for arrival in arrivals],
        [arrival.item.raw for arrival in arrivals],
        [ord for ord, _, _ in aliases],
        [position for _, position, _ in aliases],
        [alias for _, _, alias in aliases],
        turns.debounce_seconds,
        turns.max_wait_seconds,
        runtime.settings.agent.suggest_to_operators,
        [window.seconds if window else None for window in windows],
        [window.rule if window else None for window in windows],
        *_file_columns(runtime, arrivals),
    )
    _tell(runtime, arrivals, rows)
    return [_received(arrival, row) for arrival, row in zip(arrivals, rows, strict=True)]


def _file_columns(runtime: Runtime, arrivals: Sequence[Arrival]) -> list[list[object]]:
    """The files among the arrivals, column by column; each begins with the place of its message."""
    deadline = runtime.settings.turns.transcription_deadline_seconds
    files = [
        (ord, arrival.item, arrival.item.media)
        for ord, arrival in enumerate(arrivals, start=1)
        if arrival.item.media is not None
    ]
    return [
        [ord for ord, _, _ in files],
        [runtime.chance.new_id() for _ in files],
        [media.kind.value for _, _, media in files],
        [media.external_id for _, _, media in files],
        [media.mime_type for _, _, media in files],
        [media.sha256 for _, _, media in files],
        [media.filename for _, _, media in files],
        [runtime.transcriber is not None and media.kind is MediaKind.AUDIO for _, _, media in files],
        [deadline if awaits_media(item) else None for _, item, _ in files],
    ]


def _window(runtime: Runtime, arrival: Arrival, first: Stored) -> Window | None:
    turns = runtime.settings.turns
    if not turns.window_heuristics or not first.is_arrival:
        return None
    return choose_window(arrival.item.text, debounce_seconds=turns.debounce_seconds)


def _received(arrival: Arrival, row: Row) -> Received:
    return Received(
        conversation=ConversationKey(arrival.account, row["conversation_id"]),
        is_new=row["is_new"],
        is_awaited=row["is_awaited"],
        is_split=row["is_split"],
        running_turn=row["running_turn_id"],
    )


def _tell(runtime: Runtime, arrivals: Sequence[Arrival], rows: Sequence[Row]) -> None:
    for column, work in (("turn_in", Work.TURN), ("triage_in", Work.TRIAGE)):
        due = [row[column] for row in rows if row["is_new"] and row[column] is not None]
        if due:
            runtime.wakeup.nudge(work, in_seconds=max(0.0, min(due)))
    if any(row["has_media"] for row in rows):
        runtime.wakeup.nudge(Work.MEDIA)
    for arrival, row in zip(arrivals, rows, strict=True):
        outcome = "accepted" if row["is_new"] else "duplicate"
        runtime.telemetry.inbound.labels(channel=arrival.channel, outcome=outcome).inc()
        if not row["is_new"]:
            runtime.telemetry.duplicates_intercepted.labels(kind="inbound").inc()


async def keep_unknown(
    runtime: Runtime, account: AccountId, channel: ChannelName, items: Sequence[UnknownItem]
) -> None:
    """Keep what nobody could read, once per content; it starts nothing."""
    if not items:
        return
    await runtime.database.run(
        "keep_unknown",
        SQL["keep_unknown_events"],
        runtime.clock.now(),
        [account for _ in items],
        [runtime.chance.new_id() for _ in items],
        [channel for _ in items],
        [item.reason for item in items],
        [hashlib.sha256(item.raw).digest() for item in items],
        [item.raw for item in items],
    )
    for _ in items:
        runtime.telemetry.inbound.labels(channel=channel, outcome="ignored").inc()
