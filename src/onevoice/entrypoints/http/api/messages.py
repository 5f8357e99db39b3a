"""What an operator says: messages, suggestions of the agent, messages for later."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Response

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.bodies import FollowUpBody, MessageBody
from onevoice.entrypoints.http.api.commands import actor_of, key_of, refusals_answered
from onevoice.entrypoints.http.api.conversations import no_such_conversation
from onevoice.entrypoints.http.api.errors import ApiError, error_responses
from onevoice.entrypoints.http.api.outbound import read_outbound
from onevoice.entrypoints.http.api.schemas import (
    FollowUp,
    FollowUpAnswer,
    MessageAnswer,
    Suggestion,
    SuggestionPage,
    named,
)
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.flow.operator.perform import SealedMessage, schedule_follow_up, seal_operator_message
from onevoice.vocabulary import AccountId

__all__ = ["IdempotencyKey", "answer_sealed", "checked_key", "router"]

router = APIRouter(tags=["messages"])

_KEY_CHARS_MAX = 200
_SUGGESTIONS_MAX = 20

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description=f"One per message of this conversation, at most {_KEY_CHARS_MAX} characters: the same key and "
        "content again answer the same message.",
    ),
]


@router.post(
    "/conversations/{conversation_id}/messages",
    status_code=201,
    responses={
        200: {"model": MessageAnswer, "description": "The same key and content as before: the same message."},
        **error_responses(400, 401, 404, 409, 413, 422, 429, 503),
    },
)
async def send_message(
    conversation_id: UUID,
    body: MessageBody,
    caller: Caller,
    services: Services,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> MessageAnswer:
    """Answer the customer. Needs the header `Idempotency-Key`, and the conversation."""
    key = checked_key(idempotency_key)
    async with refusals_answered(services, caller.account):
        sealed = await seal_operator_message(
            services.runtime,
            key_of(caller, conversation_id),
            actor=actor_of(caller),
            message=body.as_message(),
            seen=body.seen,
            idempotency_key=key,
            suggestion=body.suggestion,
        )
    return await answer_sealed(services, caller.account, sealed, response)


@router.get("/conversations/{conversation_id}/suggestions", responses=error_responses(401, 404, 422, 503))
async def list_suggestions(conversation_id: UUID, caller: Caller, services: Services) -> SuggestionPage:
    """What the agent would say now; empty once the customer writes again or the authority moves."""
    async with services.database.transaction("list_suggestions", account=caller.account) as transaction:
        if not await transaction.fetch(SQL["conversation_exists"], caller.account, conversation_id):
            raise no_such_conversation()
        rows = await transaction.fetch(
            SQL["read_suggestions"], caller.account, conversation_id, _SUGGESTIONS_MAX
        )
    suggestions = [
        Suggestion(
            id=row["id"],
            at=row["created_at"],
            text=row["text"],
            reason=row["reason"],
            turn=row["turn_id"],
        )
        for row in rows
    ]
    return SuggestionPage(items=suggestions, next_cursor=None)


@router.post(
    "/conversations/{conversation_id}/follow_ups",
    status_code=201,
    responses=error_responses(401, 404, 409, 413, 422, 503),
)
async def schedule_message(
    conversation_id: UUID, body: FollowUpBody, caller: Caller, services: Services
) -> FollowUpAnswer:
    """Write later, unless the customer writes first or the authority changes."""
    async with refusals_answered(services, caller.account):
        follow_up = await schedule_follow_up(
            services.runtime,
            key_of(caller, conversation_id),
            actor=actor_of(caller),
            text=body.text,
            not_before=body.not_before,
        )
    async with services.database.transaction("read_follow_up", account=caller.account) as transaction:
        rows = await transaction.fetch(SQL["read_follow_up"], caller.account, follow_up)
    row = rows[0]
    return FollowUpAnswer(
        follow_up=FollowUp(
            id=row["id"],
            at=row["created_at"],
            text=row["text"],
            not_before=row["not_before"],
            state=row["state"],
            reason=row["reason"],
            operator=named(row["operator_id"], row["operator_name"]),
        )
    )


def checked_key(key: str | None) -> str:
    """Without a key a repeated call would be a second message to the customer."""
    if key is None or not key.strip():
        raise ApiError(
            400,
            "idempotency_key_missing",
            "The call has no header Idempotency-Key; send a new one with each message, and the same one again "
            "when you repeat a call.",
        )
    if len(key) > _KEY_CHARS_MAX:
        raise ApiError(
            400,
            "idempotency_key_too_long",
            f"The header Idempotency-Key has more than {_KEY_CHARS_MAX} characters; send a shorter one.",
        )
    return key


async def answer_sealed(
    services: Services, account: AccountId, sealed: SealedMessage, response: Response
) -> MessageAnswer:
    """201 for a new message, 200 for one whose key was known."""
    if not sealed.is_new:
        response.status_code = 200
    [first] = await read_outbound(services, account, sealed.outbound_ids[:1])
    return MessageAnswer(id=first.id, outbound=first, parts=list(sealed.outbound_ids))
