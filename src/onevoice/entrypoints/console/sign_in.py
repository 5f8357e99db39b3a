"""Signing in and out, and what a browser remembers of its reader: the language."""

from __future__ import annotations

import math

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onevoice.entrypoints.console.doorway import check_origin, own_path
from onevoice.entrypoints.console.form import Form, read_form
from onevoice.entrypoints.console.pages import html_response
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.visit import (
    LANGUAGE_COOKIE,
    SessionCookie,
    Visit,
    base_of,
    read_visitor,
)
from onevoice.entrypoints.http.origin import is_https
from onevoice.entrypoints.operators.principal import DEFAULT_ACCOUNT
from onevoice.errors import SignInLimited, SignInRefused
from onevoice.vocabulary import AccountId

__all__ = ["choose_language", "show_sign_in", "sign_in", "sign_out"]

_PASSWORD_CHARS_MAX = 500
_YEAR_SECONDS = 365 * 24 * 3600
_REASONS = {"expired", "signed_out"}


async def show_sign_in(services: ConsoleServices, request: Request) -> Response:
    """The form; whoever is signed in already goes on at once."""
    wanted = own_path(request, request.query_params.get("next", ""))
    if await services.sessions.read(SessionCookie.of(request, services).read(request)) is not None:
        return _redirect(wanted)
    why = request.query_params.get("why", "")
    visitor = read_visitor(request)
    message = TEXTS[visitor.language][why] if why in _REASONS else ""
    account = request.query_params.get("account", "")
    return _form(request, wanted=wanted, message=message, account=account)


async def sign_in(services: ConsoleServices, request: Request) -> Response:
    """A new session in the place of the browser's old one; a refusal tells neither name from password."""
    check_origin(services, request)
    form = await read_form(request)
    wanted = own_path(request, form.fields.get("next", ""))
    name, account = form.line("name"), form.line("account")
    cookie = SessionCookie.of(request, services)
    visitor = read_visitor(request)
    texts = TEXTS[visitor.language]
    try:
        signed_in = await services.sessions.sign_in(
            name,
            form.fields.get("password", "")[:_PASSWORD_CHARS_MAX],
            address=visitor.address,
            account=AccountId(account) if account else DEFAULT_ACCOUNT,
            replaces=cookie.read(request),
        )
    except SignInRefused:
        message = texts["sign_in_refused"]
        return _form(request, wanted=wanted, message=message, name=name, account=account, status=401)
    except SignInLimited as limited:
        seconds = max(1, math.ceil(limited.retry_after_seconds))
        message = texts["sign_in_limited"].format(seconds=seconds)
        response = _form(request, wanted=wanted, message=message, name=name, account=account, status=429)
        response.headers["retry-after"] = str(seconds)
        return response
    response = _redirect(wanted)
    cookie.set(response, signed_in.secret)
    return response


async def sign_out(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    await services.sessions.sign_out(visit.secret)
    response = _redirect(f"{visit.base}/sign-in?why=signed_out")
    SessionCookie.of(request, services).remove(response)
    return response


async def choose_language(services: ConsoleServices, visit: Visit, request: Request, form: Form) -> Response:
    response = _redirect(own_path(request, form.fields.get("back", "")))
    language = "en" if form.line("language") == "en" else "pt"
    response.set_cookie(
        LANGUAGE_COOKIE,
        language,
        max_age=_YEAR_SECONDS,
        path=visit.base,
        secure=is_https(request, services.public_url),
        httponly=True,
        samesite="lax",
    )
    return response


def _form(
    request: Request, *, wanted: str, message: str, name: str = "", account: str = "", status: int = 200
) -> Response:
    visitor = read_visitor(request)
    return html_response(
        "sign_in.html",
        visitor,
        status=status,
        title=TEXTS[visitor.language]["sign_in_title"],
        wanted=wanted,
        message=message,
        name=name,
        account=account,
        is_refused=status != 200,
        action=f"{base_of(request)}/sign-in",
    )


def _redirect(address: str) -> Response:
    return RedirectResponse(address, status_code=303, headers={"cache-control": "no-store"})
