"""The list of conversations and one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.cursors import ConversationsCursor, decode_cursor, encode_cursor
from onevoice.entrypoints.http.api.errors import ApiError, error_responses
from onevoice.entrypoints.http.api.paging import CursorParameter, LimitParameter, page_limit
from onevoice.entrypoints.http.api.schemas import Authority, Contact, Conversation, ConversationPage, named
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AccountId, AuthorityState

router = APIRouter(tags=["conversations"])

_NO_NUL = r"^[^\x00]*$"
StateFilter = Annotated[AuthorityState | None, Query(description="Who may speak.")]
ChannelFilter = Annotated[str | None, Query(description="A channel's name.", max_length=200, pattern=_NO_NUL)]
ContactFilter = Annotated[
    str | None,
    Query(
        description="Any alias of the customer: the channel's address, a phone number in any of its forms, "
        "a business-scoped id.",
        max_length=200,
        pattern=_NO_NUL,
    ),
]
OwnerFilter = Annotated[
    str | None, Query(description="An operator's id or name.", max_length=200, pattern=_NO_NUL)
]


@router.get("/conversations", responses=error_responses(401, 422, 503))
async def list_conversations(
    caller: Caller,
    services: Services,
    state: StateFilter = None,
    channel: ChannelFilter = None,
    contact: ContactFilter = None,
    owner: OwnerFilter = None,
    cursor: CursorParameter = None,
    limit: LimitParameter = 50,
) -> ConversationPage:
    """Conversations, newest activity first; one that becomes active meanwhile moves to the front."""
    after = decode_cursor(cursor, ConversationsCursor)
    count = page_limit(limit)
    aliases = _aliases(services, contact)
    async with services.database.transaction("list_conversations", account=caller.account) as transaction:
        holder = None if owner is None else await _find_operator(transaction, caller.account, owner)
        if owner is not None and holder is None:
            return ConversationPage(items=[], next_cursor=None)
        found = await find_conversations(
            transaction, caller.account, after, state=state, channel=channel, aliases=aliases, owner=holder,
            count=count + 1,
        )  # fmt: skip
        page = found[:count]
        conversations = await read_conversations(transaction, caller.account, [row["id"] for row in page])
    following = None
    if len(found) > count:
        following = encode_cursor(ConversationsCursor(at=page[-1]["last_activity_at"], id=page[-1]["id"]))
    return ConversationPage(items=conversations, next_cursor=following)


@router.get("/conversations/{conversation_id}", responses=error_responses(401, 404, 422, 503))
async def get_conversation(conversation_id: UUID, caller: Caller, services: Services) -> Conversation:
    """One conversation."""
    async with services.database.transaction("get_conversation", account=caller.account) as transaction:
        found = await read_conversations(transaction, caller.account, [conversation_id])
    if not found:
        raise no_such_conversation()
    return found[0]


async def read_conversations(
    transaction: Transaction, account: AccountId, ids: Sequence[UUID]
) -> list[Conversation]:
    """The conversations with these ids, in their order; those of another account are not among them."""
    rows = await transaction.fetch(SQL["read_conversations"], account, ids)
    return [_conversation(row) for row in rows]


def no_such_conversation() -> ApiError:
    """The same answer whether it never was or is somebody else's."""
    return ApiError(
        404,
        "conversation_unknown",
        "There is no such conversation; GET /api/v1/conversations lists those you can see.",
    )


def _aliases(services: Services, contact: str | None) -> list[str] | None:
    if contact is None:
        return None
    # A plus sign of a phone number arrives as a space when the caller did not encode it.
    typed = contact.strip()
    return sorted({typed, *services.canonical_aliases(typed)})


async def _find_operator(transaction: Transaction, account: AccountId, owner: str) -> UUID | None:
    """What a caller typed for an operator as an id; a name never looks like one."""
    try:
        return UUID(owner)
    except ValueError:
        row = await transaction.fetch_one(SQL["find_operator_by_name"], account, owner)
    return None if row is None else row["id"]


async def find_conversations(
    transaction: Transaction,
    account: AccountId,
    after: ConversationsCursor,
    *,
    state: AuthorityState | None,
    channel: str | None,
    aliases: Sequence[str] | None,
    owner: UUID | None,
    count: int,
) -> list[Row]:
    """One page of ids by the statement whose index fits the filters."""
    start = (account, after.at, after.id)
    if aliases is not None:
        return await transaction.fetch(
            SQL["page_of_conversations_of_contact"], *start, aliases, state, channel, owner, count
        )
    if state is not None and state is not AuthorityState.AI_ACTIVE:
        return await transaction.fetch(
            SQL["page_of_conversations_in_state"], *start, state, channel, owner, count
        )
    if owner is not None:
        if state is AuthorityState.AI_ACTIVE:
            return []
        return await transaction.fetch(SQL["page_of_conversations_of_owner"], *start, owner, channel, count)
    return await transaction.fetch(SQL["page_of_conversations"], *start, state, channel, count)


def _conversation(row: Row) -> Conversation:
    return Conversation(
        id=row["id"],
        channel=row["channel"],
        contact=Contact(id=row["contact_address"], name=row["contact_name"]),
        authority=Authority(
            state=row["authority_state"],
            version=row["authority_version"],
            owner=named(row["authority_owner"], row["owner_name"]),
            reason=row["authority_reason"],
            note=row["authority_note"],
            since=row["authority_since"],
        ),
        unanswered_count=row["unanswered_count"],
        oldest_unanswered_at=row["oldest_unanswered_at"],
        last_activity_at=row["last_activity_at"],
    )
