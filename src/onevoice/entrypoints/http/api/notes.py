"""Internal notes: neither the customer nor the agent sees them."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.bodies import NoteBody
from onevoice.entrypoints.http.api.commands import actor_of, key_of, refusals_answered
from onevoice.entrypoints.http.api.conversations import no_such_conversation
from onevoice.entrypoints.http.api.cursors import NotesCursor, decode_cursor, encode_cursor
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.paging import CursorParameter, LimitParameter, page_limit
from onevoice.entrypoints.http.api.schemas import Note, NoteAnswer, NotePage, named
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.flow.operator.perform import add_note
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AccountId

router = APIRouter(tags=["notes"])


@router.post(
    "/conversations/{conversation_id}/notes",
    status_code=201,
    responses=error_responses(401, 404, 413, 422, 503),
)
async def keep_note(conversation_id: UUID, body: NoteBody, caller: Caller, services: Services) -> NoteAnswer:
    """Leave a note for colleagues; whoever may read the conversation may."""
    async with refusals_answered(services, caller.account):
        note = await add_note(
            services.runtime, key_of(caller, conversation_id), actor=actor_of(caller), text=body.text
        )
    async with services.database.transaction("read_note", account=caller.account) as transaction:
        rows = await transaction.fetch(SQL["read_note"], caller.account, note)
    return NoteAnswer(note=_note(rows[0]))


@router.get("/conversations/{conversation_id}/notes", responses=error_responses(401, 404, 422, 503))
async def list_notes(
    conversation_id: UUID,
    caller: Caller,
    services: Services,
    cursor: CursorParameter = None,
    limit: LimitParameter = 50,
) -> NotePage:
    """The notes of a conversation, newest first."""
    after = decode_cursor(cursor, NotesCursor)
    count = page_limit(limit)
    async with services.database.transaction("list_notes", account=caller.account) as transaction:
        if not await transaction.fetch(SQL["conversation_exists"], caller.account, conversation_id):
            raise no_such_conversation()
        notes = await read_notes(transaction, caller.account, conversation_id, after=after, count=count + 1)
    page = notes[:count]
    following = None
    if len(notes) > count:
        following = encode_cursor(NotesCursor(at=page[-1].at, id=page[-1].id))
    return NotePage(items=page, next_cursor=following)


async def read_notes(
    transaction: Transaction, account: AccountId, conversation_id: UUID, *, after: NotesCursor, count: int
) -> list[Note]:
    """So many notes of a conversation behind the cursor, newest first."""
    rows = await transaction.fetch(SQL["page_of_notes"], account, conversation_id, after.at, after.id, count)
    return [_note(row) for row in rows]


def _note(row: Row) -> Note:
    return Note(
        id=row["id"],
        at=row["created_at"],
        text=row["text"],
        operator=named(row["operator_id"], row["operator_name"]),
    )
