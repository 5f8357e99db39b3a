"""The routes of the chat page. Who the visitor is and how much they may ask is settled before any work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from onevoice.entrypoints.http.feed import Position
from onevoice.entrypoints.http.files import serve_file
from onevoice.entrypoints.http.origin import is_https
from onevoice.entrypoints.http.webchat.page import (
    asset_response,
    embed_response,
    page_response,
    theme_response,
)
from onevoice.entrypoints.http.webchat.request import Refusal, check_origin, read_body, slow_down
from onevoice.entrypoints.http.webchat.services import WebchatLimits, WebchatPage, WebchatServices
from onevoice.entrypoints.http.webchat.stream import EventStream, visitor_events
from onevoice.entrypoints.http.webchat.texts import Language, choose_language
from onevoice.entrypoints.http.webchat.view import Place, View
from onevoice.entrypoints.http.webchat.visitor import VisitorCookies
from onevoice.errors import DatabaseUnavailable, MediaUnavailable, StatementInterrupted
from onevoice.ports.channel import Item

__all__ = ["webchat_routes"]

Handler = Callable[[Request], Awaitable[Response]]


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    text: Annotated[str, msgspec.Meta(max_length=4000)]
    name: Annotated[str, msgspec.Meta(max_length=80)] | None = None


class _Receipts(msgspec.Struct, frozen=True, kw_only=True):
    ids: Annotated[list[UUID], msgspec.Meta(min_length=1, max_length=100)]
    status: Literal["delivered", "read"]


def webchat_routes(services: WebchatServices) -> list[Route]:
    """Every route below /chat/{channel}."""
    chat = _Chat(services)
    return [
        Route("/chat/{channel}", _answering(chat.show_page), methods=["GET"]),
        Route("/chat/{channel}/", _answering(chat.show_page), methods=["GET"]),
        Route("/chat/{channel}/theme.css", _answering(chat.show_theme), methods=["GET"]),
        Route("/chat/{channel}/embed.js", _answering(chat.show_embed), methods=["GET"]),
        Route("/chat/{channel}/assets/{name}", _answering(chat.show_asset), methods=["GET"]),
        Route("/chat/{channel}/messages", _answering(chat.post_message), methods=["POST"]),
        Route("/chat/{channel}/messages", _answering(chat.list_messages), methods=["GET"]),
        Route("/chat/{channel}/media/{outbound_id}", _answering(chat.show_file), methods=["GET"]),
        Route("/chat/{channel}/receipts", _answering(chat.post_receipts), methods=["POST"]),
        Route("/chat/{channel}/events", _answering(chat.stream_events), methods=["GET"]),
    ]


class _Chat:
    def __init__(self, services: WebchatServices) -> None:
        self._services = services
        self._limits = WebchatLimits(services.clock)

    async def show_page(self, request: Request) -> Response:
        page = self._page(request)
        cookies = self._cookies(request, page)
        visitor = cookies.read(request.cookies.get(cookies.name))
        if visitor is None:
            self._limit_new_visitors(request)
            visitor = cookies.new_visitor()
            has_conversation = False
        else:
            has_conversation = await self._has_conversation(page, visitor)
        response = page_response(
            page, base=_base(request), language=_language(request, page), has_conversation=has_conversation
        )
        response.headers["set-cookie"] = cookies.header(visitor)
        return response

    async def show_theme(self, request: Request) -> Response:
        return theme_response(self._page(request))

    async def show_embed(self, request: Request) -> Response:
        page = self._page(request)
        return embed_response(page, base=_base(request), language=_language(request, page))

    async def show_asset(self, request: Request) -> Response:
        self._page(request)
        response = asset_response(request.path_params["name"])
        if response is None:
            raise _no_such_file()
        return response

    async def post_message(self, request: Request) -> Response:
        page, visitor = self._page_and_visitor(request)
        check_origin(request, self._services.public_url)
        if wait_seconds := self._limits.messages.take(visitor):
            raise slow_down(wait_seconds)
        message = await read_body(request, _Message)
        if not message.text.replace("\x00", "").strip():
            raise Refusal(422, "text_empty", "The message has no text.")
        submission: dict[str, object] = {"visitor": visitor, "id": str(message.id), "text": message.text}
        if message.name:
            submission["name"] = message.name
        await self._receive(page, submission)
        return JSONResponse({"key": f"in:{message.id}", "state": "received"})

    async def list_messages(self, request: Request) -> Response:
        view = await self._view(request)
        place = Place.parse(request.query_params.get("before", ""))
        if place is None:
            raise Refusal(400, "before_invalid", "`before` is the `order` of the earliest message you have.")
        if view is None:
            return JSONResponse({"items": [], "has_earlier": False})
        return JSONResponse((await view.earlier(place)).as_json(), headers={"cache-control": "no-store"})

    async def show_file(self, request: Request) -> Response:
        view = await self._view(request)
        file = None if view is None else await view.file(_identity(request.path_params["outbound_id"]))
        if view is None or file is None:
            raise _no_such_file()
        try:
            return await serve_file(
                self._services.media, view.account, file, range_header=request.headers.get("range")
            )
        except MediaUnavailable as error:
            if error.reason == "missing":
                raise _no_such_file() from None
            raise Refusal(
                503, "unavailable", "The file cannot be read just now; try again shortly."
            ) from None

    async def post_receipts(self, request: Request) -> Response:
        page, visitor = self._page_and_visitor(request)
        check_origin(request, self._services.public_url)
        if wait_seconds := self._limits.receipts.take(visitor):
            raise slow_down(wait_seconds)
        receipts = await read_body(request, _Receipts)
        view = await self._find_view(page, visitor)
        if view is not None:
            targets = await view.receipt_targets([str(item) for item in receipts.ids], status=receipts.status)
            if targets:
                await self._receive(
                    page, {"visitor": visitor, "receipts": targets, "status": receipts.status}
                )
        return Response(status_code=204)

    async def stream_events(self, request: Request) -> Response:
        view = await self._view(request)
        if view is None:
            # Nobody can write to a visitor who has not written yet, so an idle page costs no stream.
            return Response(status_code=204)
        after = Position.parse(request.headers.get("last-event-id") or request.query_params.get("after", ""))
        key = f"{view.account}:{view.visitor}"
        if not self._limits.streams.take(key):
            raise slow_down(30.0)
        return EventStream(
            visitor_events(view, self._services.feed, after=after),
            on_end=lambda: self._limits.streams.free(key),
        )

    def _page(self, request: Request) -> WebchatPage:
        name = request.path_params["channel"]
        page = self._services.find_page(name)
        if page is None:
            raise Refusal(404, "channel_unknown", "There is no chat at this address.")
        return page

    def _page_and_visitor(self, request: Request) -> tuple[WebchatPage, str]:
        page = self._page(request)
        cookies = self._cookies(request, page)
        visitor = cookies.read(request.cookies.get(cookies.name))
        if visitor is None:
            raise Refusal(
                401,
                "visitor_unknown",
                "This browser has no valid cookie for the chat; load its page first.",
            )
        return page, visitor

    async def _view(self, request: Request) -> View | None:
        page, visitor = self._page_and_visitor(request)
        if wait_seconds := self._limits.reads.take(visitor):
            raise slow_down(wait_seconds)
        return await self._find_view(page, visitor)

    async def _find_view(self, page: WebchatPage, visitor: str) -> View | None:
        return await View.find(
            self._services.database,
            self._services.clock,
            account=page.channel.account,
            channel=page.channel.name,
            visitor=visitor,
        )

    async def _has_conversation(self, page: WebchatPage, visitor: str) -> bool:
        try:
            return await self._find_view(page, visitor) is not None
        except DatabaseUnavailable:
            # The page still opens; its stream shows the messages once the database is back.
            return True

    async def _receive(self, page: WebchatPage, submission: dict[str, object]) -> None:
        items: Sequence[Item] = page.channel.parse(msgspec.json.encode(submission))
        await self._services.receive(page.channel, items)
        self._services.feed.nudge()

    def _cookies(self, request: Request, page: WebchatPage) -> VisitorCookies:
        return VisitorCookies(
            self._services.secret,
            page.channel.name,
            is_https=is_https(request, self._services.public_url),
            is_embeddable=bool(page.allowed_origins),
        )

    def _limit_new_visitors(self, request: Request) -> None:
        address = request.client.host if request.client else "unknown"
        if wait_seconds := self._limits.new_visitors.take(address):
            raise slow_down(wait_seconds)


def _answering(handler: Handler) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Refusal as refusal:
            return refusal.response()
        except ClientDisconnect:
            return Response(status_code=400)
        except (DatabaseUnavailable, StatementInterrupted):
            return Refusal(
                503,
                "unavailable",
                "The chat cannot store or read messages just now; try again shortly.",
                headers={"retry-after": "2"},
            ).response()

    return answer


def _identity(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise _no_such_file() from None


def _no_such_file() -> Refusal:
    return Refusal(404, "not_found", "There is no such file.")


def _base(request: Request) -> str:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return f"{root}/chat/{request.path_params['channel']}"


def _language(request: Request, page: WebchatPage) -> Language:
    return choose_language(page.language, request.headers.get("accept-language", ""))
