"""Commands that change who may speak, and the page that asks before a forced one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from onevoice.entrypoints.console.commands import conclude
from onevoice.entrypoints.console.desk import conversation_of, listing_query
from onevoice.entrypoints.console.form import Form
from onevoice.entrypoints.console.listing import shown_name
from onevoice.entrypoints.console.pages import html_response
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.thread import ThreadQuery, read_thread
from onevoice.entrypoints.console.visit import Visit
from onevoice.flow.authority.command import give_command
from onevoice.flow.authority.decide import Command
from onevoice.vocabulary import OperatorId

__all__ = ["COMMANDS", "ask_force", "command"]

COMMANDS = {
    "take": Command.TAKE,
    "force": Command.TAKE_FORCED,
    "release": Command.RELEASE,
    "transfer": Command.TRANSFER,
    "suspend": Command.SUSPEND,
    "resume": Command.RESUME,
}
_NOTE_CHARS_MAX = 2_000


async def command(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    """One of the commands; the flow's table decides, whatever the page offered."""
    wanted = COMMANDS.get(request.path_params["command"])
    if wanted is None:
        raise Refusal(404, "not_found")
    to = form.identity("to")
    if wanted is Command.TRANSFER and to is None:
        raise Refusal(422, "operator_unknown")
    return await conclude(
        services,
        visit,
        request,
        lambda: give_command(
            services.runtime,
            visit.key(conversation_of(request)),
            wanted,
            actor=visit.actor,
            to=None if to is None else OperatorId(to),
            note=form.line("note", chars_max=_NOTE_CHARS_MAX) or None,
            hold=form.line("hold") == "yes",
        ),
    )


async def ask_force(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """What forcing means here, before anything is done. Taking it from somebody is an admin's alone."""
    conversation_id = conversation_of(request)
    async with services.database.transaction("console", account=visit.account) as transaction:
        thread = await read_thread(services, transaction, visit, conversation_id, ThreadQuery())
    standing, texts = thread.standing, TEXTS[visit.language]
    if not standing.owns and not visit.principal.is_admin:
        raise Refusal(403, "role_too_small", holder=standing.owner_name)
    if "force" not in standing.commands:
        question = texts["force_nothing"]
    elif standing.owns:
        question = texts["force_pending"].format(count=thread.in_flight_count)
    else:
        question = texts["force_other"].format(owner=standing.owner_name)
    path = f"{visit.base}/conversations/{conversation_id}"
    query = listing_query(request)
    return html_response(
        "force.html",
        visit,
        csrf=visit.session.csrf_token,
        title=texts["force_title"],
        name=shown_name(thread.conversation, visit.language),
        question=question,
        can_force="force" in standing.commands,
        action=query.address(f"{path}/force"),
        back=query.address(path),
    )
