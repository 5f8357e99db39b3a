"""Commands that change who may speak."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.bodies import ReasonBody, TakeBody, TransferBody
from onevoice.entrypoints.http.api.commands import actor_of, key_of, refusals_answered
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.schemas import Authority, AuthorityAnswer, named
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.operators.principal import Principal
from onevoice.flow.authority.command import AuthorityView, give_command
from onevoice.flow.authority.decide import Command
from onevoice.vocabulary import OperatorId

router = APIRouter(tags=["authority"])

_ERRORS = error_responses(401, 404, 409, 413, 422, 503)
_ERRORS_WITH_ROLE = error_responses(401, 403, 404, 409, 413, 422, 503)


@router.post("/conversations/{conversation_id}/take", responses=_ERRORS_WITH_ROLE)
async def take_conversation(
    conversation_id: UUID, caller: Caller, services: Services, body: TakeBody | None = None
) -> AuthorityAnswer:
    """Become the one who answers. While an AI message is on the wire the takeover waits for its outcome."""
    wanted = body or TakeBody()
    command = Command.TAKE_FORCED if wanted.force else Command.TAKE
    return await _give(services, caller, conversation_id, command, hold=wanted.hold)


@router.post("/conversations/{conversation_id}/release", responses=_ERRORS)
async def release_conversation(conversation_id: UUID, caller: Caller, services: Services) -> AuthorityAnswer:
    """Give it back to the AI: only what is still open becomes a turn."""
    return await _give(services, caller, conversation_id, Command.RELEASE)


@router.post("/conversations/{conversation_id}/transfer", responses=_ERRORS)
async def transfer_conversation(
    conversation_id: UUID, body: TransferBody, caller: Caller, services: Services
) -> AuthorityAnswer:
    """Hand it to another operator."""
    return await _give(services, caller, conversation_id, Command.TRANSFER, to=OperatorId(body.to))


@router.post("/conversations/{conversation_id}/suspend", responses=_ERRORS)
async def suspend_conversation(
    conversation_id: UUID, caller: Caller, services: Services, body: ReasonBody | None = None
) -> AuthorityAnswer:
    """Stop the AI here without taking over."""
    return await _give(services, caller, conversation_id, Command.SUSPEND, why=body)


@router.post("/conversations/{conversation_id}/resume", responses=_ERRORS)
async def resume_conversation(conversation_id: UUID, caller: Caller, services: Services) -> AuthorityAnswer:
    """End a suspension: the AI answers what is open."""
    return await _give(services, caller, conversation_id, Command.RESUME)


@router.post("/conversations/{conversation_id}/request_handoff", responses=_ERRORS)
async def request_handoff(
    conversation_id: UUID, caller: Caller, services: Services, body: ReasonBody | None = None
) -> AuthorityAnswer:
    """Ask for a human: the AI stops and the conversation waits for whoever takes it."""
    return await _give(services, caller, conversation_id, Command.REQUEST_HANDOFF, why=body)


async def _give(
    services: Services,
    caller: Principal,
    conversation_id: UUID,
    command: Command,
    *,
    to: OperatorId | None = None,
    why: ReasonBody | None = None,
    hold: bool = False,
) -> AuthorityAnswer:
    async with refusals_answered(services, caller.account):
        view = await give_command(
            services.runtime,
            key_of(caller, conversation_id),
            command,
            actor=actor_of(caller),
            to=to,
            reason=None if why is None else why.reason,
            note=None if why is None else why.note,
            hold=hold,
        )
    return AuthorityAnswer(authority=_authority(view), unresolved_count=view.unresolved_count)


def _authority(view: AuthorityView) -> Authority:
    return Authority(
        state=view.state,
        version=view.version,
        owner=named(view.owner, view.owner_name),
        reason=view.reason,
        note=view.note,
        since=view.since,
    )
