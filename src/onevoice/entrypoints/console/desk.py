"""The desk: the list and, when one is chosen, a conversation; as a page or as the parts that a live page swaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from onevoice.entrypoints.console.listing import ListingQuery, Place, Tab, hue_of, read_listing, shown_name
from onevoice.entrypoints.console.pages import html_response
from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.thread import Thread, ThreadQuery, read_thread
from onevoice.entrypoints.console.visit import Part, Visit
from onevoice.vocabulary import ConversationId

__all__ = ["Notice", "conversation_of", "listing_query", "show_conversation", "show_desk", "show_list"]

_TEMPLATES = {Part.PAGE: "page.html", Part.DESK: "desk.html", Part.LIST: "list.html"}
_SEARCH_CHARS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Why the request was refused; ``written`` is the text that is still to be sent."""

    code: str
    text: str
    status: int
    written: str = ""


async def show_list(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """The desk with no conversation chosen."""
    return await show_desk(services, visit, request, conversation_id=None)


async def show_conversation(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """The desk with one conversation."""
    return await show_desk(services, visit, request, conversation_id=conversation_of(request))


async def show_desk(
    services: ConsoleServices,
    visit: Visit,
    request: Request,
    *,
    conversation_id: ConversationId | None,
    notice: Notice | None = None,
) -> Response:
    """Read what the wanted part shows, in one transaction of the operator's account, and render it."""
    query = listing_query(request)
    part = visit.part
    thread: Thread | None = None
    async with services.database.transaction("console", account=visit.account) as transaction:
        listing = await read_listing(services, transaction, visit, query)
        if conversation_id is not None and part is not Part.LIST:
            thread = await read_thread(services, transaction, visit, conversation_id, _thread_query(request))
    name = None if thread is None else shown_name(thread.conversation, visit.language)
    return html_response(
        _TEMPLATES[part],
        visit,
        status=200 if notice is None else notice.status,
        visit=visit,
        csrf=visit.session.csrf_token,
        listing=listing,
        thread=thread,
        name=name,
        hue=0 if thread is None else hue_of(thread.conversation.id),
        chosen=conversation_id,
        here=_here(visit, query, conversation_id),
        query=query,
        notice=notice,
        new_key=services.runtime.chance.new_id(),
        title=TEXTS[visit.language]["console"] if name is None else name,
    )


def conversation_of(request: Request) -> ConversationId:
    """The id in the address; anything else is no conversation."""
    try:
        return ConversationId(UUID(request.path_params["conversation"]))
    except ValueError:
        raise Refusal(404, "conversation_unknown") from None


def listing_query(request: Request) -> ListingQuery:
    """What the address says of the list; what it says wrongly is a default."""
    tab = request.query_params.get("tab", "")
    return ListingQuery(
        tab=Tab(tab) if tab in set(Tab) else Tab.WAITING,
        search=request.query_params.get("q", "").replace("\x00", "").strip()[:_SEARCH_CHARS_MAX],
        after=Place.parse(request.query_params.get("after", "")),
    )


def _here(visit: Visit, query: ListingQuery, conversation_id: ConversationId | None) -> str:
    path = visit.base if conversation_id is None else f"{visit.base}/conversations/{conversation_id}"
    return query.address(path)


def _thread_query(request: Request) -> ThreadQuery:
    return ThreadQuery(
        start=_moment(request.query_params.get("from", "")),
        draft=_identity(request.query_params.get("draft", "")),
        hidden=_identity(request.query_params.get("hide", "")),
    )


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and 1 < moment.year < 9999 else None


def _identity(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
