"""One conversation's thread: its newest items or an earlier stretch, with everything that is pinned to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import merge
from uuid import UUID

from onevoice.entrypoints.console.entries import Entry, Reader, describe_value
from onevoice.entrypoints.console.listing import shown_name
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.standing import Standing, is_window_closed, read_standing
from onevoice.entrypoints.console.statements import SQL
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.times import Times
from onevoice.entrypoints.console.visit import Visit
from onevoice.entrypoints.http.api.conversations import read_conversations
from onevoice.entrypoints.http.api.cursors import NotesCursor, TimelineCursor
from onevoice.entrypoints.http.api.notes import read_notes
from onevoice.entrypoints.http.api.schemas import Conversation, InboundItem, OutboundItem, TimelineItem
from onevoice.entrypoints.http.api.statements import SQL as API_SQL
from onevoice.entrypoints.http.api.timeline import read_timeline, timeline_item
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AuthorityState, ConversationId

__all__ = ["Thread", "ThreadQuery", "read_thread"]

OPENING_ITEMS = 80
ITEMS_MAX = 1000
_NOTES_MAX = 200
_ZERO = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuery:
    """What the address says of a thread: from when to show it, and what was done with its suggestion."""

    start: datetime | None = None
    draft: UUID | None = None
    hidden: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """An effect that the customer has not been told of, or that waits for approval."""

    id: UUID
    tool: str
    args: str
    result: str
    state: str
    version: int
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    id: UUID
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Colleague:
    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """``seen`` is the last inbound id in ``entries``; ``start`` where they begin, as the address says it."""

    conversation: Conversation
    standing: Standing
    entries: tuple[Entry, ...]
    earlier_start: str | None
    start: str | None
    is_cut: bool
    seen: UUID | None
    pins: tuple[Pin, ...]
    scheduled: tuple[tuple[str, str], ...]
    suggestion: Suggestion | None
    draft: Suggestion | None
    colleagues: tuple[Colleague, ...]
    channel_kind: str
    aliases: tuple[str, ...]
    message_count: int
    first_at: str
    window_until: str
    is_window_closed: bool
    is_thinking: bool
    in_flight_count: int


async def read_thread(
    services: ConsoleServices,
    transaction: Transaction,
    visit: Visit,
    conversation_id: ConversationId,
    query: ThreadQuery,
) -> Thread:
    """Everything of one account's conversation, read in one transaction; refused when it is not the account's."""
    found = await read_conversations(transaction, visit.account, [conversation_id])
    head = await transaction.fetch_one(
        SQL["read_thread_head"], services.runtime.clock.now(), visit.account, conversation_id
    )
    if not found or head is None:
        raise Refusal(404, "conversation_unknown")
    conversation = found[0]
    times = Times(language=visit.language, zone=visit.zone, now=head["now"])
    standing = read_standing(
        conversation,
        head,
        principal=visit.principal,
        times=times,
        idle_return_seconds=services.runtime.settings.handoff.idle_return_seconds,
    )
    cutoff = query.start or await _cutoff(transaction, visit, conversation_id, before=None)
    items, has_earlier = await _items(services, transaction, visit, conversation_id, cutoff)
    entries = await _entries(transaction, visit, conversation, standing, times, items[:ITEMS_MAX], cutoff)
    earlier = None
    if has_earlier and cutoff is not None:
        earlier = await _cutoff(transaction, visit, conversation_id, before=cutoff)
    suggestion, draft = await _suggestion(transaction, visit, conversation_id, query, owns=standing.owns)
    return Thread(
        conversation=conversation,
        standing=standing,
        entries=entries,
        earlier_start=None if earlier is None else earlier.isoformat(),
        start=None if query.start is None else query.start.isoformat(),
        is_cut=len(items) > ITEMS_MAX,
        seen=_last_inbound(items[:ITEMS_MAX]),
        pins=await _pins(transaction, visit, conversation_id, times),
        scheduled=await _scheduled(transaction, visit, conversation_id, times),
        suggestion=suggestion,
        draft=draft,
        colleagues=await _colleagues(transaction, visit, conversation),
        channel_kind=head["channel_kind"] or "",
        aliases=tuple(head["aliases"]),
        message_count=head["message_count"],
        first_at="" if head["first_at"] is None else times.full(head["first_at"]),
        window_until="" if head["window_expires_at"] is None else times.full(head["window_expires_at"]),
        is_window_closed=is_window_closed(head),
        is_thinking=head["is_thinking"],
        in_flight_count=head["in_flight_count"],
    )


async def _cutoff(
    transaction: Transaction, visit: Visit, conversation_id: ConversationId, *, before: datetime | None
) -> datetime | None:
    row = await transaction.fetch_one(
        SQL["find_thread_cutoff"], visit.account, conversation_id, before, OPENING_ITEMS
    )
    return None if row is None else row["cutoff"]


async def _items(
    services: ConsoleServices,
    transaction: Transaction,
    visit: Visit,
    conversation_id: ConversationId,
    cutoff: datetime | None,
) -> tuple[list[TimelineItem], bool]:
    """The timeline from an instant on, and whether there is anything before it."""
    after, has_earlier = TimelineCursor(), False
    if cutoff is not None:
        start = await transaction.fetch_one(SQL["find_thread_start"], visit.account, conversation_id, cutoff)
        assert start is not None  # noqa: S101 - A select from one row has one row.
        just_before = cutoff - timedelta(microseconds=1)
        after = TimelineCursor(
            inbound=start["inbound"],
            outbound=start["outbound"],
            turn_at=just_before,
            turn_id=_ZERO,
            effect_at=just_before,
            effect_id=_ZERO,
            journal=start["journal"],
        )
        has_earlier = start["has_earlier"]
    rows = await read_timeline(
        transaction,
        visit.account,
        conversation_id,
        after=after,
        now=services.runtime.clock.now(),
        count=ITEMS_MAX + 1,
    )
    return [timeline_item(row) for row in rows], has_earlier


async def _entries(
    transaction: Transaction,
    visit: Visit,
    conversation: Conversation,
    standing: Standing,
    times: Times,
    items: Sequence[TimelineItem],
    cutoff: datetime | None,
) -> tuple[Entry, ...]:
    writers = {item.operator for item in items if isinstance(item, OutboundItem) and item.operator}
    names = await transaction.fetch(SQL["read_operator_names"], visit.account, list(writers))
    notes = await read_notes(
        transaction, visit.account, conversation.id, after=NotesCursor(), count=_NOTES_MAX
    )
    reader = Reader(
        times=times,
        names={row["id"]: row["name"] for row in names},
        contact_name=shown_name(conversation, visit.language),
        may_act=standing.may_act,
        owns=standing.owns,
        ai_may_speak=_ai_may_speak(conversation),
    )
    read = [entry for item in items if (entry := reader.read(item)) is not None]
    noted = [reader.note(note) for note in reversed(notes) if cutoff is None or note.at >= cutoff]
    # What the timeline put in order stays in order, whatever its times say.
    return tuple(_with_days(list(merge(read, noted, key=lambda entry: entry.at)), times))


def _ai_may_speak(conversation: Conversation) -> bool:
    authority = conversation.authority
    is_waiting = authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is None
    return is_waiting or authority.state is AuthorityState.AI_ACTIVE


def _with_days(entries: Sequence[Entry], times: Times) -> list[Entry]:
    shown: list[Entry] = []
    day = ""
    for entry in entries:
        new_day = times.day(entry.at)
        shown.append(entry if new_day == day else replace(entry, starts_day=new_day))
        day = new_day
    return shown


def _last_inbound(items: Sequence[TimelineItem]) -> UUID | None:
    return next((item.id for item in reversed(items) if isinstance(item, InboundItem)), None)


async def _suggestion(
    transaction: Transaction, visit: Visit, conversation_id: ConversationId, query: ThreadQuery, *, owns: bool
) -> tuple[Suggestion | None, Suggestion | None]:
    """The newest suggestion that still holds, and it again when it is being edited."""
    if not owns:
        return None, None
    rows = await transaction.fetch(API_SQL["read_suggestions"], visit.account, conversation_id, 1)
    if not rows or rows[0]["id"] == query.hidden:
        return None, None
    suggestion = Suggestion(id=rows[0]["id"], text=rows[0]["text"])
    return (None, suggestion) if suggestion.id == query.draft else (suggestion, None)


async def _pins(
    transaction: Transaction, visit: Visit, conversation_id: ConversationId, times: Times
) -> tuple[Pin, ...]:
    rows = await transaction.fetch(SQL["read_pinned_effects"], visit.account, conversation_id)
    return tuple(_pin(row, times) for row in rows)


def _pin(row: Row, times: Times) -> Pin:
    return Pin(
        id=row["id"],
        tool=row["tool"],
        args=describe_value(row["args"]),
        result="" if row["result"] is None else describe_value(row["result"]),
        state=row["state"],
        version=row["authority_version"],
        time=times.full(row["started_at"]),
    )


async def _scheduled(
    transaction: Transaction, visit: Visit, conversation_id: ConversationId, times: Times
) -> tuple[tuple[str, str], ...]:
    rows = await transaction.fetch(SQL["read_scheduled"], visit.account, conversation_id)
    texts = TEXTS[visit.language]
    return tuple(
        (
            texts["scheduled"].format(
                time=times.full(row["not_before"]), name=row["operator_name"] or texts["system_name"]
            ),
            row["text"],
        )
        for row in rows
    )


async def _colleagues(
    transaction: Transaction, visit: Visit, conversation: Conversation
) -> tuple[Colleague, ...]:
    """To whom it may be transferred: anybody but its holder."""
    holder = conversation.authority.owner
    rows = await transaction.fetch(API_SQL["list_operators"], visit.account)
    return tuple(
        Colleague(id=row["id"], name=row["name"]) for row in rows if holder is None or row["id"] != holder.id
    )
