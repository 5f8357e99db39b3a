"""One request of the console: who is signed in, in which language and time zone, and how much of a page is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from starlette.requests import Request
from starlette.responses import Response

from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.http.origin import is_https
from onevoice.entrypoints.http.webchat.texts import Language, choose_language
from onevoice.entrypoints.operators import Session
from onevoice.entrypoints.operators.principal import Principal
from onevoice.entrypoints.operators.sessions import ABSOLUTE_LIFE
from onevoice.flow.authority.command import Actor
from onevoice.flow.conversation import ConversationKey
from onevoice.vocabulary import AccountId, ConversationId

__all__ = ["Part", "SessionCookie", "Visit", "Visitor", "base_of", "read_visitor"]

PART_HEADER: Final = "x-console-part"
# Set by the page when nobody asked: such a request does not keep the session alive.
BY_ITSELF_HEADER: Final = "x-console-by-itself"
LANGUAGE_COOKIE: Final = "onevoice_language"
ZONE_COOKIE: Final = "onevoice_zone"
_ZONE_CHARS_MAX = 64


class Part(StrEnum):
    """How much of a page is wanted: all of it, or only what a live page swaps."""

    PAGE = "page"
    DESK = "desk"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """What is known of every request, signed in or not."""

    base: str
    language: Language
    zone: tzinfo
    part: Part
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Visitor):
    """A request of somebody who is signed in."""

    session: Session
    secret: str

    @property
    def principal(self) -> Principal:
        return self.session.principal

    @property
    def account(self) -> AccountId:
        return self.session.principal.account

    @property
    def actor(self) -> Actor:
        return Actor(operator=self.principal.operator_id, is_admin=self.principal.is_admin)

    def key(self, conversation: ConversationId) -> ConversationKey:
        """The account is the operator's, whatever the id: another account's conversation is not found."""
        return ConversationKey(self.account, conversation)

    def local(self, moment: datetime) -> datetime:
        return moment.astimezone(self.zone)


class SessionCookie:
    """The cookie that carries a session's secret; over https no other host and no script can set or read it."""

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure
        self.name = f"{'__Host-' if secure else ''}onevoice_session"

    @classmethod
    def of(cls, request: Request, services: ConsoleServices) -> SessionCookie:
        return cls(secure=is_https(request, services.public_url))

    def read(self, request: Request) -> str | None:
        return request.cookies.get(self.name)

    def set(self, response: Response, secret: str) -> None:
        self._write(response, secret, lives=ABSOLUTE_LIFE)

    def remove(self, response: Response) -> None:
        self._write(response, "", lives=timedelta())

    def _write(self, response: Response, secret: str, *, lives: timedelta) -> None:
        response.set_cookie(
            self.name,
            secret,
            max_age=int(lives.total_seconds()),
            path="/",
            httponly=True,
            secure=self._secure,
            samesite="lax",
        )


def base_of(request: Request) -> str:
    """The console's own path, below whatever path a proxy adds."""
    return f"{str(request.scope.get('root_path', '')).rstrip('/')}/console"


def read_visitor(request: Request) -> Visitor:
    """Read what the browser says of itself; anything odd becomes a default."""
    part = request.headers.get(PART_HEADER, "")
    language = request.cookies.get(LANGUAGE_COOKIE, "auto")
    return Visitor(
        base=base_of(request),
        language=choose_language(language, request.headers.get("accept-language", "")),
        zone=_zone(request.cookies.get(ZONE_COOKIE, "").replace("%2F", "/")[:_ZONE_CHARS_MAX]),
        part=Part(part) if part in {Part.DESK, Part.LIST} else Part.PAGE,
        address=request.client.host if request.client else "unknown",
    )


@cache
def _known_zone(name: str) -> tzinfo:
    return ZoneInfo(name)


def _zone(name: str) -> tzinfo:
    try:
        return _known_zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _known_zone("UTC")
