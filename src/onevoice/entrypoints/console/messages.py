"""What an operator writes: replies, suggestions sent or edited, internal notes; and what they decide on messages
and writes that wait for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from onevoice.entrypoints.console.commands import conclude
from onevoice.entrypoints.console.desk import conversation_of
from onevoice.entrypoints.console.form import Form
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.visit import Visit
from onevoice.flow.effect.approval import approve, refuse
from onevoice.flow.operator.perform import (
    add_note,
    discard_outbound,
    release_outbound,
    seal_operator_message,
    send_as_mine,
)
from onevoice.vocabulary import EffectId, MediaId, OutboundId, OutgoingMedia, OutgoingMessage, Template

__all__ = ["decide_effect", "decide_outbound", "keep_note", "send_message"]


async def send_message(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    """Answer the customer. The key is the draft's own: however often it is posted, it is sent once."""
    key = form.identity("key")
    if key is None:
        raise Refusal(422, "form_unreadable")
    text = form.text("text") if "text" in form.fields else None
    message = _written(form, text)
    suggestion = form.identity("suggestion")
    return await conclude(
        services,
        visit,
        request,
        lambda: seal_operator_message(
            services.runtime,
            visit.key(conversation_of(request)),
            actor=visit.actor,
            message=message,
            seen=form.line("seen") or None,
            idempotency_key=str(key),
            suggestion=suggestion,
        ),
        written=text or "",
    )


def _written(form: Form, text: str | None) -> OutgoingMessage | None:
    """A template by its button, else the text with the file that is attached to it."""
    if form.line("as") == "template":
        values = [line.strip() for line in form.text("template_values").split("\n") if line.strip()]
        parameters = [{"type": "text", "text": value} for value in values]
        body: tuple[dict[str, object], ...] = ({"type": "body", "parameters": parameters},) if values else ()
        name, language = form.line("template"), form.line("template_language")
        if not name or not language:
            return OutgoingMessage()
        return OutgoingMessage(template=Template(name=name, language=language, components=body))
    media = form.identity("media")
    if media is None:
        return None if text is None else OutgoingMessage(text=text)
    return OutgoingMessage(text=text or "", media=OutgoingMedia(id=MediaId(media)))


async def keep_note(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    """Leave a note for colleagues."""
    text = form.text("text")
    return await conclude(
        services,
        visit,
        request,
        lambda: add_note(services.runtime, visit.key(conversation_of(request)), actor=visit.actor, text=text),
    )


async def decide_outbound(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    """Release, discard, or send the words of a message as one's own."""
    outbound = OutboundId(_identity(request, "outbound", unknown="outbound_unknown"))
    decisions: dict[str, Callable[[], Awaitable[object]]] = {
        "release": lambda: release_outbound(services.runtime, visit.account, outbound, actor=visit.actor),
        "discard": lambda: discard_outbound(services.runtime, visit.account, outbound, actor=visit.actor),
        # The API's own key: once, whatever is repeated and from wherever.
        "mine": lambda: send_as_mine(
            services.runtime,
            visit.account,
            outbound,
            actor=visit.actor,
            idempotency_key=f"as mine: {outbound}",
        ),
    }
    return await conclude(services, visit, request, _chosen(decisions, request))


async def decide_effect(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    """Approve or refuse a write that waits, as the screen showed it."""
    effect = EffectId(_identity(request, "effect", unknown="effect_unknown"))
    version = form.line("version")
    seen_version = int(version) if version.isascii() and version.isdigit() and len(version) < 19 else None
    decisions: dict[str, Callable[[], Awaitable[object]]] = {
        "approve": lambda: approve(
            services.runtime,
            visit.account,
            effect,
            operator=visit.principal.operator_id,
            seen_version=seen_version,
        ),
        "refuse": lambda: refuse(services.runtime, visit.account, effect),
    }
    return await conclude(services, visit, request, _chosen(decisions, request))


def _chosen(
    decisions: dict[str, Callable[[], Awaitable[object]]], request: Request
) -> Callable[[], Awaitable[object]]:
    decision = decisions.get(request.path_params["decision"])
    if decision is None:
        raise Refusal(404, "not_found")
    return decision


def _identity(request: Request, name: str, *, unknown: str) -> UUID:
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise Refusal(404, unknown) from None
