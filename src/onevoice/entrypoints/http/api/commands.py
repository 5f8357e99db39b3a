"""From a caller's command to the flow and back: who acts, on what, and how a refusal is answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from onevoice.entrypoints.http.api.conversations import no_such_conversation
from onevoice.entrypoints.http.api.errors import ApiError
from onevoice.entrypoints.http.api.services import ApiServices
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.entrypoints.operators.principal import Principal
from onevoice.errors import CommandRefused, ConversationUnknown, MessageUnsendable, OutboundUnknown
from onevoice.flow.authority.command import Actor
from onevoice.flow.conversation import ConversationKey
from onevoice.vocabulary import AccountId, ConversationId, OperatorId

__all__ = ["actor_of", "key_of", "refusals_answered"]

# What is no conflict with the conversation's state but a fault of the call itself.
_STATUSES = {
    "role_too_small": 403,
    "blank": 422,
    "operator_unknown": 422,
    "seen_unknown": 422,
    "too_many_waiting": 429,
}


def actor_of(caller: Principal) -> Actor:
    return Actor(operator=caller.operator_id, is_admin=caller.is_admin)


def key_of(caller: Principal, conversation_id: UUID) -> ConversationKey:
    """The account is the caller's, whatever the id: another account's conversation is not found."""
    return ConversationKey(caller.account, ConversationId(conversation_id))


@asynccontextmanager
async def refusals_answered(services: ApiServices, account: AccountId) -> AsyncGenerator[None]:
    """Answer the flow's refusals with their status and the holder's name; tell live feeds of a success."""
    try:
        yield
    except ConversationUnknown:
        raise no_such_conversation() from None
    except OutboundUnknown:
        raise ApiError(
            404,
            "outbound_unknown",
            "There is no such message; GET /api/v1/outbound and the timeline list those you can see.",
        ) from None
    except MessageUnsendable as error:
        sentence = str(error)
        raise ApiError(
            422, "unsendable", f"{sentence[:1].upper()}{sentence[1:]}.", fault=error.code
        ) from None
    except CommandRefused as refused:
        raise await _answer(services, account, refused) from None
    services.feed.nudge()


async def _answer(services: ApiServices, account: AccountId, refused: CommandRefused) -> ApiError:
    status = _STATUSES.get(refused.code, 409)
    message = str(refused)
    message = f"{message[:1].upper()}{message[1:].rstrip('.')}."
    if status in {422, 429}:
        return ApiError(status, refused.code, message)
    owner = None
    if refused.owner is not None:
        owner = {"id": str(refused.owner), "name": await _name(services, account, refused.owner)}
    return ApiError(status, refused.code, message, owner=owner)


async def _name(services: ApiServices, account: AccountId, operator: OperatorId) -> str | None:
    async with services.database.transaction("read_operator_name", account=account) as transaction:
        row = await transaction.fetch_one(SQL["read_operator_name"], account, operator)
    return None if row is None else row["name"]
