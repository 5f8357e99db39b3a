"""Outbound messages that need somebody's attention."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.content import outbound_content
from onevoice.entrypoints.http.api.cursors import OutboundCursor, decode_cursor, encode_cursor
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.paging import CursorParameter, LimitParameter, page_limit
from onevoice.entrypoints.http.api.schemas import ChannelFault, Contact, OutboundMessage, OutboundPage
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.store.database import Row
from onevoice.vocabulary import AccountId, OutboundState

router = APIRouter(tags=["outbound"])


class AttentionState(StrEnum):
    """The states that wait for a person, or tell one something."""

    PARKED = OutboundState.PARKED.value
    UNCERTAIN = OutboundState.UNCERTAIN.value
    FAILED = OutboundState.FAILED.value


@router.get("/outbound", responses=error_responses(401, 422, 503))
async def list_outbound(
    caller: Caller,
    services: Services,
    state: Annotated[AttentionState, Query(description="Which of them.")] = AttentionState.PARKED,
    cursor: CursorParameter = None,
    limit: LimitParameter = 50,
) -> OutboundPage:
    """Parked, uncertain or failed messages, newest first."""
    after = decode_cursor(cursor, OutboundCursor)
    count = page_limit(limit)
    async with services.database.transaction("list_outbound", account=caller.account) as transaction:
        rows = await transaction.fetch(SQL["page_of_outbound"], caller.account, state, after.seq, count + 1)
    page = rows[:count]
    following = encode_cursor(OutboundCursor(seq=page[-1]["seq"])) if len(rows) > count else None
    return OutboundPage(items=[_message(row) for row in page], next_cursor=following)


async def read_outbound(services: Services, account: AccountId, ids: Sequence[UUID]) -> list[OutboundMessage]:
    """The messages with these ids, in their order and whatever their state."""
    async with services.database.transaction("read_outbound", account=account) as transaction:
        rows = await transaction.fetch(SQL["read_outbound"], account, ids, services.clock.now())
    return [_message(row) for row in rows]


def channel_fault(code: str | None, detail: str | None) -> ChannelFault | None:
    return None if code is None else ChannelFault(code=code, detail=detail)


def _message(row: Row) -> OutboundMessage:
    return OutboundMessage(
        id=row["id"],
        conversation=row["conversation_id"],
        channel=row["channel"],
        contact=Contact(id=row["contact_address"], name=row["contact_name"]),
        at=row["sealed_at"],
        state=row["state"],
        reason=row["reason"],
        author=row["author"],
        text=row["text"],
        **outbound_content(row["payload"], row["media"]),
        authority_version=row["authority_version"],
        external_id=row["external_id"],
        key=row["key"],
        turn=row["turn_id"],
        operator=row["operator_id"],
        part=row["part"],
        part_count=row["part_count"],
        attempt_count=row["attempt_count"],
        sent_at=row["sent_at"],
        delivered_at=row["delivered_at"],
        read_at=row["read_at"],
        fault=channel_fault(row["error_code"], row["error_detail"]),
    )
