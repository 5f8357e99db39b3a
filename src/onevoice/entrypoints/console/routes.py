"""Every address of the console."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from onevoice.entrypoints.console.authority import ask_force, command
from onevoice.entrypoints.console.desk import show_conversation, show_list
from onevoice.entrypoints.console.doorway import (
    Asked,
    Posted,
    answering,
    signed_in,
    signed_in_form,
    signed_in_upload,
)
from onevoice.entrypoints.console.files import hand_in_file, show_file
from onevoice.entrypoints.console.live import stream_changes
from onevoice.entrypoints.console.messages import decide_effect, decide_outbound, keep_note, send_message
from onevoice.entrypoints.console.pages import asset_response
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.sign_in import choose_language, show_sign_in, sign_in, sign_out
from onevoice.entrypoints.console.visit import base_of

__all__ = ["console_routes"]

_CONVERSATION = "/console/conversations/{conversation}"
# In this order: the last pattern takes any one word.
_PAGES: tuple[tuple[str, Asked], ...] = (
    ("/console", show_list),
    (_CONVERSATION, show_conversation),
    (f"{_CONVERSATION}/force", ask_force),
    ("/console/events", stream_changes),
    ("/console/media/{media}", show_file),
)
_FORMS: tuple[tuple[str, Posted], ...] = (
    ("/console/sign-out", sign_out),
    ("/console/language", choose_language),
    (f"{_CONVERSATION}/messages", send_message),
    (f"{_CONVERSATION}/notes", keep_note),
    (f"{_CONVERSATION}/outbound/{{outbound}}/{{decision}}", decide_outbound),
    (f"{_CONVERSATION}/effects/{{effect}}/{{decision}}", decide_effect),
    (f"{_CONVERSATION}/{{command}}", command),
)


def console_routes(services: ConsoleServices) -> list[Route]:
    """The start page, and everything below /console."""
    return [
        Route("/", _to_console, methods=["GET"]),
        Route("/console/", _to_console, methods=["GET"]),
        Route("/console/assets/{name}", answering(services, _show_asset), methods=["GET"]),
        Route("/console/sign-in", answering(services, show_sign_in), methods=["GET"]),
        Route("/console/sign-in", answering(services, sign_in), methods=["POST"]),
        Route("/console/media", signed_in_upload(services, hand_in_file), methods=["POST"]),
        *(Route(path, signed_in(services, handler), methods=["GET"]) for path, handler in _PAGES),
        *(Route(path, signed_in_form(services, handler), methods=["POST"]) for path, handler in _FORMS),
        Route("/console/{rest:path}", answering(services, _find_nothing)),
    ]


async def _to_console(request: Request) -> Response:
    return RedirectResponse(base_of(request), status_code=303)


async def _show_asset(_: ConsoleServices, request: Request) -> Response:
    response = asset_response(request.path_params["name"], request.query_params.get("v", ""))
    if response is None:
        raise Refusal(404, "not_found")
    return response


async def _find_nothing(_: ConsoleServices, request: Request) -> Response:
    raise Refusal(404, "not_found")
