"""What happened in a conversation: messages both ways, turns, transitions and triage, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from heapq import merge
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import TypeAdapter

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.content import inbound_content, outbound_content
from onevoice.entrypoints.http.api.conversations import no_such_conversation
from onevoice.entrypoints.http.api.cursors import TimelineCursor, decode_cursor, encode_cursor
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.outbound import channel_fault
from onevoice.entrypoints.http.api.paging import CursorParameter, LimitParameter, page_limit
from onevoice.entrypoints.http.api.schemas import TimelineItem, TimelinePage
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AccountId

router = APIRouter(tags=["conversations"])

# At one instant, what is decided comes after what it was decided on: a goodbye after its handoff.
_SOURCES = (("inbound",), ("turn",), ("effect",), ("authority", "triage"), ("outbound",))
_RANK = {kind: rank for rank, kinds in enumerate(_SOURCES) for kind in kinds}
_ITEM: TypeAdapter[TimelineItem] = TypeAdapter(TimelineItem)


@router.get(
    "/conversations/{conversation_id}/timeline",
    response_model_by_alias=True,
    responses=error_responses(401, 404, 422, 503),
)
async def get_timeline(
    conversation_id: UUID,
    caller: Caller,
    services: Services,
    cursor: CursorParameter = None,
    limit: LimitParameter = 100,
) -> TimelinePage:
    """Everything that happened, oldest first; what is new meanwhile makes a walk neither skip nor repeat."""
    after = decode_cursor(cursor, TimelineCursor)
    count = page_limit(limit)
    async with services.database.transaction("get_timeline", account=caller.account) as transaction:
        known = await transaction.fetch_one(SQL["conversation_exists"], caller.account, conversation_id)
        if known is None:
            raise no_such_conversation()
        rows = await read_timeline(
            transaction,
            caller.account,
            conversation_id,
            after=after,
            now=services.clock.now(),
            count=count + 1,
        )
    page = rows[:count]
    following = encode_cursor(advance(after, page)) if len(rows) > count else None
    return TimelinePage(items=[timeline_item(row) for row in page], next_cursor=following)


async def read_timeline(
    transaction: Transaction,
    account: AccountId,
    conversation_id: UUID,
    *,
    after: TimelineCursor,
    now: datetime | None,
    count: int,
) -> list[Row]:
    """So many rows behind the cursor, oldest first, each to be read with ``timeline_item``."""
    rows = await transaction.fetch(
        SQL["read_timeline"],
        account,
        conversation_id,
        after.inbound,
        after.outbound,
        after.turn_at,
        after.turn_id,
        after.journal,
        after.effect_at,
        after.effect_id,
        now,
        count,
    )
    return merge_sources(rows)[:count]


def merge_sources(rows: Sequence[Row]) -> list[Row]:
    """Merge the sources by time without changing the order inside any of them.

    The result depends only on where each source was left, so pages of any size show the same order.
    """
    sources = [[row for row in rows if row["kind"] in kinds] for kinds in _SOURCES]
    return list(merge(*sources, key=_by_time))


def advance(after: TimelineCursor, page: Sequence[Row]) -> TimelineCursor:
    """The cursor behind the last item of each source on the page."""
    last = {row["kind"]: row for row in page}
    journal = [last[kind]["seq"] for kind in ("authority", "triage") if kind in last]
    turn, effect = last.get("turn"), last.get("effect")
    return TimelineCursor(
        inbound=last["inbound"]["seq"] if "inbound" in last else after.inbound,
        outbound=last["outbound"]["seq"] if "outbound" in last else after.outbound,
        turn_at=after.turn_at if turn is None else turn["at"],
        turn_id=after.turn_id if turn is None else turn["id"],
        effect_at=after.effect_at if effect is None else effect["at"],
        effect_id=after.effect_id if effect is None else effect["id"],
        journal=max(journal, default=after.journal),
    )


def _by_time(row: Row) -> tuple[datetime, int]:
    return row["at"], _RANK[row["kind"]]


def timeline_item(row: Row) -> TimelineItem:
    kind: str = row["kind"]
    item: dict[str, Any] = {"kind": kind, "id": row["id"], "at": row["at"], **row["item"]}
    if kind == "inbound":
        item |= inbound_content(item.pop("media"))
    elif kind == "outbound":
        item["fault"] = channel_fault(item.pop("error_code"), item.pop("error_detail"))
        item |= outbound_content(item.pop("payload"), item.pop("media"))
    elif kind in {"authority", "triage"}:
        item |= {"id": str(row["seq"]), **_journal_details(item)}
    return _ITEM.validate_python(item)


def _journal_details(item: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = item.pop("data")
    owner_name: str | None = item.pop("owner_name")
    if item["kind"] == "triage":
        return {name: data.get(name) for name in ("decision", "decider", "covers")}
    owner = data.get("owner")
    details = {name: data.get(name) for name in ("from", "to", "version", "note")}
    return {**details, "owner": None if owner is None else {"id": owner, "name": owner_name}}
