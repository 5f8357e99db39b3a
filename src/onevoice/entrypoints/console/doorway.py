"""In front of every route: who is signed in, whether the request is theirs, and how a refusal is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from urllib.parse import urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from onevoice.entrypoints.console.form import Form, read_form
from onevoice.entrypoints.console.pages import html_response
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.visit import (
    BY_ITSELF_HEADER,
    Part,
    SessionCookie,
    Visit,
    Visitor,
    base_of,
    read_visitor,
)
from onevoice.entrypoints.http.origin import comes_from_own_page
from onevoice.errors import DatabaseUnavailable, StatementInterrupted

__all__ = [
    "Asked",
    "Posted",
    "answering",
    "check_origin",
    "own_path",
    "signed_in",
    "signed_in_form",
    "signed_in_upload",
]

CSRF_HEADER = "x-console-csrf"
Handler = Callable[[Request], Awaitable[Response]]
Asked = Callable[[ConsoleServices, Visit, Request], Awaitable[Response]]
Posted = Callable[[ConsoleServices, Visit, Request, Form], Awaitable[Response]]


def answering(
    services: ConsoleServices, handler: Callable[[ConsoleServices, Request], Awaitable[Response]]
) -> Handler:
    """A route that needs nobody signed in; its refusals become pages."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(services, request)
        except Refusal as refusal:
            return _page(request, refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        except (DatabaseUnavailable, StatementInterrupted):
            response = _page(request, Refusal(503, "unavailable"))
            response.headers["retry-after"] = "2"
            return response

    return answer


def signed_in(services: ConsoleServices, handler: Asked) -> Handler:
    """A page: whoever is not signed in is sent to sign in, and back."""

    async def answer(services: ConsoleServices, request: Request) -> Response:
        visit = await _find_visit(services, request)
        return _to_sign_in(request) if visit is None else await handler(services, visit, request)

    return answering(services, answer)


def signed_in_form(services: ConsoleServices, handler: Posted) -> Handler:
    """A command: from this site's page, by whoever is signed in, under the token of their session."""

    async def answer(services: ConsoleServices, request: Request) -> Response:
        check_origin(services, request)
        visit = await _find_visit(services, request)
        if visit is None:
            return _to_sign_in(request)
        form = await read_form(request)
        if not visit.session.is_csrf_token(form.fields.get("csrf")):
            raise Refusal(403, "form_out_of_date")
        return await handler(services, visit, request, form)

    return answering(services, answer)


def signed_in_upload(services: ConsoleServices, handler: Asked) -> Handler:
    """The same for a body that is a file: its token stands in a header, and the handler reads it piece by piece."""

    async def answer(services: ConsoleServices, request: Request) -> Response:
        check_origin(services, request)
        visit = await _find_visit(services, request)
        if visit is None:
            return _to_sign_in(request)
        if not visit.session.is_csrf_token(request.headers.get(CSRF_HEADER)):
            raise Refusal(403, "form_out_of_date")
        return await handler(services, visit, request)

    return answering(services, answer)


def check_origin(services: ConsoleServices, request: Request) -> None:
    if not comes_from_own_page(request, services.public_url):
        raise Refusal(403, "origin_refused")


def own_path(request: Request, path: str) -> str:
    """A path of the console to go on with; anything that leads elsewhere becomes its start."""
    base = base_of(request)
    rest = path.removeprefix(base)
    is_own = (
        path.startswith(base) and (not rest or rest[0] in "/?") and path.isprintable() and "\\" not in path
    )
    return path if is_own else base


async def _find_visit(services: ConsoleServices, request: Request) -> Visit | None:
    secret = SessionCookie.of(request, services).read(request)
    by_itself = BY_ITSELF_HEADER in request.headers
    session = await services.sessions.read(secret, keeps_alive=not by_itself)
    if session is None or secret is None:
        return None
    visitor = read_visitor(request)
    known = {field.name: getattr(visitor, field.name) for field in fields(Visitor)}
    return Visit(session=session, secret=secret, **known)


def _to_sign_in(request: Request) -> Response:
    """A page's own request is told; a person's is sent."""
    base = base_of(request)
    path = request.url.path if request.method == "GET" else _page_of_command(request)
    query = request.url.query if request.method == "GET" else ""
    wanted = own_path(request, f"{path}?{query}" if query else path)
    address = f"{base}/sign-in?{urlencode({'next': wanted, 'why': 'expired'})}"
    if read_visitor(request).part is not Part.PAGE:
        return Response(status_code=401, headers={"x-console-sign-in": address, "cache-control": "no-store"})
    had_session = any(name.endswith("onevoice_session") for name in request.cookies)
    if not had_session:
        address = f"{base}/sign-in?{urlencode({'next': wanted})}"
    return RedirectResponse(address, status_code=303, headers={"cache-control": "no-store"})


def _page_of_command(request: Request) -> str:
    conversation = request.path_params.get("conversation")
    base = base_of(request)
    return base if conversation is None else f"{base}/conversations/{conversation}"


def _page(request: Request, refusal: Refusal) -> Response:
    visitor = read_visitor(request)
    texts = TEXTS[visitor.language]
    message = texts[refusal.code].format(**refusal.extra)
    template = "refusal.html" if visitor.part is Part.PAGE else "refusal_part.html"
    return html_response(template, visitor, status=refusal.status, message=message, title=texts["trouble"])
