"""The list of conversations: tabs, search, pages, and what each row says."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import urlencode
from uuid import UUID

from onevoice.entrypoints.console.attachments import summary_of
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.statements import SQL
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.times import Times
from onevoice.entrypoints.console.visit import Visit
from onevoice.entrypoints.console.words import REASONS, word_of
from onevoice.entrypoints.http.api.conversations import find_conversations, read_conversations
from onevoice.entrypoints.http.api.cursors import ConversationsCursor
from onevoice.entrypoints.http.api.schemas import Conversation
from onevoice.entrypoints.http.webchat.texts import Language
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AuthorityState

__all__ = ["Badge", "Listing", "ListingQuery", "Place", "Tab", "hue_of", "read_listing", "shown_name"]

PAGE_ROWS = 40
_HUES = 6
_PREVIEW_CHARS = 160
_VISITOR = re.compile(r"[0-9a-f]{32}")
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)


class Tab(StrEnum):
    """Which conversations a list shows."""

    WAITING = "waiting"
    MINE = "mine"
    AI = "ai"
    SUSPENDED = "suspended"
    ALL = "all"


_STATES = {Tab.AI: AuthorityState.AI_ACTIVE, Tab.SUSPENDED: AuthorityState.AI_SUSPENDED, Tab.ALL: None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page of the list ended: its order's first key, the activity, the id."""

    since: datetime
    active: datetime
    id: UUID

    @classmethod
    def parse(cls, text: str) -> Place | None:
        """What ``str()`` wrote; ``None`` for anything else, which shows the start of the list."""
        try:
            since, active, name = text.split("~")
            place = cls(
                since=datetime.fromisoformat(since), active=datetime.fromisoformat(active), id=UUID(name)
            )
        except ValueError:
            return None
        return place if place.since.tzinfo and place.active.tzinfo else None

    def __str__(self) -> str:
        return f"{self.since.isoformat()}~{self.active.isoformat()}~{self.id}"


_START = Place(since=_EARLIEST, active=_LATEST, id=UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingQuery:
    """What the address says of the list."""

    tab: Tab = Tab.WAITING
    search: str = ""
    after: Place | None = None

    def address(self, path: str, **more: str) -> str:
        """An address that keeps the tab and the search; ``more`` adds to them or overrides them."""
        parameters = {"tab": self.tab.value, "q": self.search} | more
        kept = {name: value for name, value in parameters.items() if value}
        return f"{path}?{urlencode(kept)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """``tone`` is ``wait``, ``human``, ``ai``, ``bad`` or ``quiet``."""

    text: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRow:
    """One conversation of the list."""

    id: UUID
    name: str
    initial: str
    hue: int
    channel: str
    when: str
    waited: str | None
    preview: str
    badges: tuple[Badge, ...]
    unanswered_count: int
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TabLink:
    tab: Tab
    text: str
    count: int | None
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """``attention_count``: who waits for anybody, and whose customer waits for this operator."""

    query: ListingQuery
    rows: tuple[ListingRow, ...]
    tabs: tuple[TabLink, ...]
    next_address: str | None
    attention_count: int
    now: datetime


async def read_listing(
    services: ConsoleServices, transaction: Transaction, visit: Visit, query: ListingQuery
) -> Listing:
    counts = await transaction.fetch_one(
        SQL["count_tabs"], services.runtime.clock.now(), visit.account, visit.principal.operator_id
    )
    assert counts is not None  # noqa: S101 - A select without from has one row.
    found = await _find(services, transaction, visit, query)
    page = found[:PAGE_ROWS]
    ids = [row["id"] for row in page]
    conversations = await read_conversations(transaction, visit.account, ids)
    previews = {row["id"]: row for row in await transaction.fetch(SQL["read_previews"], visit.account, ids)}
    times = Times(language=visit.language, zone=visit.zone, now=counts["now"])
    rows = tuple(
        _row(visit, query, times, conversation, previews[conversation.id]) for conversation in conversations
    )
    following = None
    if len(found) > PAGE_ROWS:
        last = page[-1]
        place = Place(
            since=last.get("waiting_since") or _EARLIEST, active=last["last_activity_at"], id=last["id"]
        )
        following = query.address(visit.base, after=str(place))
    return Listing(
        query=query,
        rows=rows,
        tabs=_tabs(visit, query, counts),
        next_address=following,
        attention_count=counts["waiting_count"] + counts["mine_unanswered_count"],
        now=counts["now"],
    )


async def _find(
    services: ConsoleServices, transaction: Transaction, visit: Visit, query: ListingQuery
) -> list[Row]:
    place, count = query.after or _START, PAGE_ROWS + 1
    if query.search:
        return await _search(services, transaction, visit, query.search, place)
    if query.tab is Tab.WAITING:
        return await transaction.fetch(SQL["page_of_waiting"], visit.account, place.since, place.id, count)
    if query.tab is Tab.MINE:
        return await transaction.fetch(
            SQL["page_of_mine"],
            visit.account,
            visit.principal.operator_id,
            place.since,
            place.active,
            place.id,
            count,
        )
    return await find_conversations(
        transaction,
        visit.account,
        ConversationsCursor(at=place.active, id=place.id),
        state=_STATES[query.tab],
        channel=None,
        aliases=None,
        owner=None,
        count=count,
    )


async def _search(
    services: ConsoleServices, transaction: Transaction, visit: Visit, typed: str, place: Place
) -> list[Row]:
    """By any alias, whatever its form; else by a part of the name or address."""
    after = ConversationsCursor(at=place.active, id=place.id)
    aliases = sorted({typed, *services.canonical_aliases(typed)})
    found = await find_conversations(
        transaction,
        visit.account,
        after,
        state=None,
        channel=None,
        aliases=aliases,
        owner=None,
        count=PAGE_ROWS + 1,
    )
    return found or await transaction.fetch(
        SQL["page_of_named"], visit.account, after.at, after.id, typed, PAGE_ROWS + 1
    )


def _tabs(visit: Visit, query: ListingQuery, counts: Row) -> tuple[TabLink, ...]:
    numbers = {
        Tab.WAITING: counts["waiting_count"],
        Tab.MINE: counts["mine_count"],
        Tab.SUSPENDED: counts["suspended_count"],
    }
    return tuple(
        TabLink(
            tab=tab,
            text=TEXTS[visit.language][f"tab_{tab.value}"],
            count=numbers.get(tab),
            address=query.address(visit.base, tab=tab.value, q=""),
        )
        for tab in Tab
    )


def _row(
    visit: Visit, query: ListingQuery, times: Times, conversation: Conversation, preview: Row
) -> ListingRow:
    name = shown_name(conversation, visit.language)
    waiting_since = conversation.oldest_unanswered_at
    if waiting_since is None and _waits(conversation):
        waiting_since = conversation.authority.since
    return ListingRow(
        id=conversation.id,
        name=name,
        initial=name[:1].upper(),
        hue=hue_of(conversation.id),
        channel=conversation.channel,
        when=times.short(conversation.last_activity_at),
        waited=None if waiting_since is None else times.waited(waiting_since),
        preview=_preview(visit, preview),
        badges=tuple(_badges(visit, conversation, preview)),
        unanswered_count=conversation.unanswered_count,
        address=query.address(f"{visit.base}/conversations/{conversation.id}"),
    )


def shown_name(conversation: Conversation, language: Language) -> str:
    """Whom the operator talks to. A webchat's visitor has no name, and nobody reads 32 digits out."""
    contact = conversation.contact
    if name := (contact.name or "").strip():
        return name
    if _VISITOR.fullmatch(contact.id):
        return TEXTS[language]["visitor"].format(start=contact.id[:6])
    return contact.id


def hue_of(conversation_id: UUID) -> int:
    """One of a few colours, always the same for a conversation."""
    return zlib.crc32(conversation_id.bytes) % _HUES


def _waits(conversation: Conversation) -> bool:
    authority = conversation.authority
    return authority.state is AuthorityState.HANDOFF_PENDING and authority.owner is None


def _preview(visit: Visit, row: Row) -> str:
    texts = TEXTS[visit.language]
    inbound_at, outbound_at = row["inbound_at"], row["outbound_at"]
    if outbound_at is not None and (inbound_at is None or outbound_at > inbound_at):
        prefix = texts["ai_said"] if row["outbound_author"] == "ai" else texts["you_said"]
        return f"{prefix}{_one_line(row['outbound_text'])}"
    said = row["transcription"] or summary_of(row["inbound_text"] or "", row["inbound_type"], visit.language)
    return _one_line(said or row["inbound_type"] or "")


def _one_line(text: str) -> str:
    return " ".join(text[:_PREVIEW_CHARS].split())


def _badges(visit: Visit, conversation: Conversation, preview: Row) -> Sequence[Badge]:
    texts, authority = TEXTS[visit.language], conversation.authority
    badges: list[Badge] = []
    if authority.owner is not None:
        is_mine = authority.owner.id == visit.principal.operator_id
        badges.append(Badge(text=texts["you"] if is_mine else authority.owner.name or "?", tone="human"))
    elif authority.state is AuthorityState.HUMAN_ACTIVE:
        badges.append(Badge(text=texts["device"], tone="human"))
    elif authority.state is AuthorityState.AI_ACTIVE:
        badges.append(Badge(text=texts["ai"], tone="ai"))
    if authority.state in {AuthorityState.HANDOFF_PENDING, AuthorityState.AI_SUSPENDED}:
        tone = "wait" if authority.state is AuthorityState.HANDOFF_PENDING else "bad"
        text = word_of(REASONS, authority.reason, visit.language) or texts[authority.state.value]
        badges.append(Badge(text=text, tone=tone))
    if preview["parked_reason"] is not None:
        badges.append(Badge(text=texts["parked_reply"], tone="bad"))
    return badges
