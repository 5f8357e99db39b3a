"""Write tools of agents in any language, automation outside turns, and the approval of writes that wait for it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from onevoice.entrypoints.http.api.authentication import Caller, authenticate
from onevoice.entrypoints.http.api.bodies import Body
from onevoice.entrypoints.http.api.commands import refusals_answered
from onevoice.entrypoints.http.api.errors import ApiError, error_responses
from onevoice.entrypoints.http.api.services import Services
from onevoice.errors import ConversationUnknown, EffectSettled, EffectUnknown, WriteArgumentsInvalid
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.effect.approval import approve, refuse
from onevoice.flow.effect.decide import TOOL_CHARS_MAX, WRITE_SECONDS_MAX
from onevoice.flow.effect.perform import Authorised, authorise, authorise_outside, finish
from onevoice.ports.writes import WriteCall
from onevoice.vocabulary import AccountId, ConversationId, EffectId, EffectState, TurnId

__all__ = ["router"]

router = APIRouter(tags=["effects"])

_SENTENCES = {
    "authority_revoked": "A human or a rule has taken the conversation over; do not do it, answer with no messages.",
    "newer_message": "The customer has written again; do not do it, answer with no messages: a new turn answers all.",
    "turn_over": "The turn has ended; do not do it, its answer will not be used.",
    "outcome_unknown": "An equal call has begun and its outcome is not known; do not repeat it, a human will look.",
}

_bearer = HTTPBearer(auto_error=False, description="A token of `onevoice operator add NAME --token`.")
_signature = APIKeyHeader(
    name="X-Onevoice-Signature",
    auto_error=False,
    description="`sha256=<hex>`: the HMAC-SHA256 of the raw body under `agent.secret`, instead of a token.",
)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectCaller:
    """An admin with a token has one account; the agent itself, known by its signature, serves all of this server."""

    accounts: tuple[AccountId, ...]


async def _authenticate_effects(
    request: Request,
    services: Services,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    signature: Annotated[str | None, Depends(_signature)],
) -> EffectCaller:
    secret = services.runtime.settings.agent.secret.get_secret_value()
    if credentials is None and signature is not None and secret:
        expected = "sha256=" + hmac.new(secret.encode(), await request.body(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape")):
            raise ApiError(
                401,
                "signature_invalid",
                "X-Onevoice-Signature does not match the body; sign its raw bytes with agent.secret.",
            )
        accounts = {channel.account for channel in services.runtime.channels.values()}
        return EffectCaller(accounts=tuple(sorted(accounts)))
    principal = await authenticate(request, credentials)
    if not principal.is_admin:
        raise ApiError(403, "role_too_small", "Only an admin's token may carry out writes; ask one for it.")
    return EffectCaller(accounts=(principal.account,))


Agent = Annotated[EffectCaller, Depends(_authenticate_effects)]

_Tool = Annotated[str, StringConstraints(min_length=1, max_length=TOOL_CHARS_MAX, pattern=r"^[^\x00-\x1f]+$")]


class WriteBody(Body):
    """A call of a write tool, before it is made."""

    tool: _Tool
    args: dict[str, JsonValue] = Field(default_factory=dict)
    retry_safe: bool = Field(default=False, description="Doing it twice does no harm.")
    occurrence: str | None = Field(
        default=None, max_length=TOOL_CHARS_MAX, description="What tells intended equal calls apart."
    )

    def as_call(self) -> WriteCall:
        return WriteCall(
            tool=self.tool, args=dict(self.args), occurrence=self.occurrence, retry_safe=self.retry_safe
        )


class OutsideWriteBody(WriteBody):
    """The same for automation outside a turn, under the authority it last read."""

    authority_version: int = Field(
        description="`authority.version` of the conversation as the caller knows it."
    )


class OutcomeBody(Body):
    """What came of a write."""

    state: Literal["done", "failed"]
    result: JsonValue = Field(default=None, description="What an equal call will be answered.")


class ApprovalBody(Body):
    """An operator's decision about a write that waits."""

    authority_version: int | None = Field(
        default=None,
        description="What the screen showed; a write approved under an older version is refused.",
    )


class StartedEffect(BaseModel):
    """Do it now, unless `not_after_seconds` have passed since the question was sent."""

    effect: UUID
    key: str
    state: Literal["started"]
    not_after_seconds: float


class DoneEffect(BaseModel):
    """It is done already: use this result, do not repeat it."""

    effect: UUID
    key: str
    state: Literal["done"]
    result: JsonValue


class EffectOutcome(BaseModel):
    """What is recorded of an effect."""

    effect: UUID
    state: EffectState


_AUTHORISE = {
    200: {"model": DoneEffect, "description": "An equal call is done already."},
    **error_responses(401, 403, 404, 409, 413, 422, 503),
}


@router.post("/turns/{turn_id}/effects", status_code=201, response_model=StartedEffect, responses=_AUTHORISE)
async def authorise_write(
    turn_id: UUID, body: WriteBody, caller: Agent, services: Services
) -> StartedEffect | Response:
    """Ask before a write tool is called; `409` says why it must not be."""
    call = body.as_call()
    authorised = await _first_found(
        caller, lambda account: authorise(services.runtime, TurnId(turn_id), call, account=account)
    )
    services.feed.nudge()
    return _answer(authorised)


@router.post(
    "/conversations/{conversation_id}/effects",
    status_code=201,
    response_model=StartedEffect,
    responses=_AUTHORISE,
)
async def authorise_write_outside_turns(
    conversation_id: UUID, body: OutsideWriteBody, caller: Agent, services: Services
) -> StartedEffect | Response:
    """The same for automation outside a turn (CRM, e-mail): `409 authority_revoked` once the version has moved."""
    call = body.as_call()
    authorised = await _first_found(
        caller,
        lambda account: authorise_outside(
            services.runtime,
            ConversationKey(account, ConversationId(conversation_id)),
            call,
            authority_version=body.authority_version,
        ),
    )
    services.feed.nudge()
    return _answer(authorised)


@router.post("/effects/{effect_id}", responses=error_responses(401, 403, 404, 409, 413, 422, 503))
async def finish_write(
    effect_id: UUID, body: OutcomeBody, caller: Agent, services: Services
) -> EffectOutcome:
    """Say what came of a write, however late; the same again is answered the same."""
    state = EffectState(body.state)
    await _first_found(
        caller,
        lambda account: finish(
            services.runtime, account, EffectId(effect_id), state=state, result=body.result
        ),
    )
    services.feed.nudge()
    return EffectOutcome(effect=effect_id, state=state)


@router.post("/effects/{effect_id}/approve", responses=error_responses(401, 404, 409, 422, 503))
async def approve_write(
    effect_id: UUID, caller: Caller, services: Services, body: ApprovalBody | None = None
) -> EffectOutcome:
    """Let a write that waits for an operator begin, if nothing has changed since."""
    async with refusals_answered(services, caller.account):
        state = await _or_unknown(
            approve(
                services.runtime,
                caller.account,
                EffectId(effect_id),
                operator=caller.operator_id,
                seen_version=body.authority_version if body is not None else None,
            )
        )
    return EffectOutcome(effect=effect_id, state=state)


@router.post("/effects/{effect_id}/refuse", responses=error_responses(401, 404, 409, 422, 503))
async def refuse_write(effect_id: UUID, caller: Caller, services: Services) -> EffectOutcome:
    """End a write that waits for an operator; its conversation goes to a human."""
    async with refusals_answered(services, caller.account):
        state = await _or_unknown(
            refuse(services.runtime, caller.account, EffectId(effect_id), operator=caller.operator_id)
        )
    return EffectOutcome(effect=effect_id, state=state)


async def _first_found(caller: EffectCaller, act: Callable[[AccountId], Awaitable[Answer]]) -> Answer:
    """Act in the account that has it. Another account's is the same as none."""
    for account in caller.accounts:
        try:
            return await act(account)
        except (EffectUnknown, ConversationUnknown):
            continue
        except EffectSettled as settled:
            raise ApiError(409, "already_settled", f"{str(settled).capitalize()}.") from None
        except WriteArgumentsInvalid as invalid:
            raise ApiError(422, "invalid_request", f"{invalid}.") from None
    raise _unknown()


async def _or_unknown(asked: Awaitable[Answer]) -> Answer:
    try:
        return await asked
    except EffectUnknown:
        raise _unknown() from None


def _unknown() -> ApiError:
    return ApiError(
        404,
        "effect_unknown",
        "There is no such turn, conversation or effect; use the ids as onevoice gave them.",
    )


def _answer(authorised: Authorised) -> StartedEffect | Response:
    match authorised.state:
        case EffectState.STARTED if authorised.effect is not None:
            return StartedEffect(
                effect=authorised.effect,
                key=authorised.key,
                state="started",
                not_after_seconds=WRITE_SECONDS_MAX,
            )
        case EffectState.DONE if authorised.effect is not None:
            done = DoneEffect.model_validate(
                {
                    "effect": authorised.effect,
                    "key": authorised.key,
                    "state": "done",
                    "result": authorised.result,
                }
            )
            return Response(done.model_dump_json(), media_type="application/json")
        case _:
            code = authorised.reason or "turn_over"
            raise ApiError(409, code, _SENTENCES[code])
