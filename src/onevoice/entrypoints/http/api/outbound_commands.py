"""What an operator does with a message that waits for a human."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.commands import actor_of, refusals_answered
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.messages import IdempotencyKey, answer_sealed, checked_key
from onevoice.entrypoints.http.api.outbound import read_outbound
from onevoice.entrypoints.http.api.schemas import MessageAnswer, OutboundAnswer
from onevoice.entrypoints.http.api.services import Services
from onevoice.flow.operator.perform import discard_outbound, release_outbound, send_as_mine
from onevoice.vocabulary import OutboundId

router = APIRouter(tags=["outbound"])


@router.post("/outbound/{outbound_id}/release", responses=error_responses(401, 404, 409, 422, 503))
async def release_message(outbound_id: UUID, caller: Caller, services: Services) -> OutboundAnswer:
    """Let a parked message leave after all, behind what already waits in its conversation."""
    async with refusals_answered(services, caller.account):
        await release_outbound(
            services.runtime, caller.account, OutboundId(outbound_id), actor=actor_of(caller)
        )
    [message] = await read_outbound(services, caller.account, [outbound_id])
    return OutboundAnswer(outbound=message)


@router.post("/outbound/{outbound_id}/discard", responses=error_responses(401, 404, 409, 422, 503))
async def discard_message(outbound_id: UUID, caller: Caller, services: Services) -> OutboundAnswer:
    """End a parked message for good, or close one of unknown outcome."""
    async with refusals_answered(services, caller.account):
        await discard_outbound(
            services.runtime, caller.account, OutboundId(outbound_id), actor=actor_of(caller)
        )
    [message] = await read_outbound(services, caller.account, [outbound_id])
    return OutboundAnswer(outbound=message)


@router.post(
    "/outbound/{outbound_id}/send",
    status_code=201,
    responses={
        200: {"model": MessageAnswer, "description": "It was sent so before: the same message."},
        **error_responses(400, 401, 404, 409, 422, 429, 503),
    },
)
async def send_message_as_mine(
    outbound_id: UUID,
    caller: Caller,
    services: Services,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> MessageAnswer:
    """Send the words of a revoked or parked reply as one's own. Once, whatever is repeated, without a key too."""
    key = f"as mine: {outbound_id}" if idempotency_key is None else checked_key(idempotency_key)
    async with refusals_answered(services, caller.account):
        sealed = await send_as_mine(
            services.runtime,
            caller.account,
            OutboundId(outbound_id),
            actor=actor_of(caller),
            idempotency_key=key,
        )
    return await answer_sealed(services, caller.account, sealed, response)
