"""From a posted form to the flow and back: the page afterwards, or the refusal in its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onevoice.entrypoints.console.desk import Notice, conversation_of, listing_query, show_desk
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS, unsendable_text
from onevoice.entrypoints.console.visit import Part, Visit
from onevoice.entrypoints.http.api.statements import SQL as API_SQL
from onevoice.errors import (
    CommandRefused,
    ConversationUnknown,
    EffectUnknown,
    MessageUnsendable,
    OutboundUnknown,
)
from onevoice.vocabulary import ConversationId, OperatorId

__all__ = ["conclude"]

# What is no conflict with the conversation's state but a fault of the call itself.
_STATUSES = {
    "role_too_small": 403,
    "blank": 422,
    "operator_unknown": 422,
    "seen_unknown": 422,
    "too_many_waiting": 429,
}


async def conclude(
    services: ConsoleServices,
    visit: Visit,
    request: Request,
    command: Callable[[], Awaitable[object]],
    *,
    written: str = "",
) -> Response:
    """Carry out a command on the conversation in the address, and show that conversation as it is then.

    A refusal is shown in place, with the holder's name and with what was ``written``; a success of a plain form
    sends the browser on, so that reloading repeats nothing.
    """
    conversation_id = conversation_of(request)
    try:
        await command()
    except ConversationUnknown:
        raise Refusal(404, "conversation_unknown") from None
    except OutboundUnknown:
        raise Refusal(404, "outbound_unknown") from None
    except EffectUnknown:
        raise Refusal(404, "effect_unknown") from None
    except MessageUnsendable as error:
        notice = Notice(
            code=error.code, text=unsendable_text(visit.language, error), status=422, written=written
        )
        return await show_desk(services, visit, request, conversation_id=conversation_id, notice=notice)
    except CommandRefused as refused:
        notice = await _notice(services, visit, refused, written)
        return await show_desk(services, visit, request, conversation_id=conversation_id, notice=notice)
    services.feed.nudge()
    if visit.part is Part.PAGE:
        return _onward(visit, request, conversation_id)
    return await show_desk(services, visit, request, conversation_id=conversation_id)


def _onward(visit: Visit, request: Request, conversation_id: ConversationId) -> Response:
    address = listing_query(request).address(f"{visit.base}/conversations/{conversation_id}")
    return RedirectResponse(f"{address}#end", status_code=303, headers={"cache-control": "no-store"})


async def _notice(services: ConsoleServices, visit: Visit, refused: CommandRefused, written: str) -> Notice:
    texts = TEXTS[visit.language]
    holder = texts["nobody"]
    if refused.owner is not None:
        holder = await _name(services, visit, refused.owner) or holder
    text = texts.get(refused.code, texts["refused"]).format(holder=holder)
    status = _STATUSES.get(refused.code, 409)
    return Notice(code=refused.code, text=text, status=status, written=written)


async def _name(services: ConsoleServices, visit: Visit, operator: OperatorId) -> str | None:
    """A holder who was disabled since still has a name."""
    async with services.database.transaction("console", account=visit.account) as transaction:
        row = await transaction.fetch_one(API_SQL["read_operator_name"], visit.account, operator)
    return None if row is None else row["name"]
