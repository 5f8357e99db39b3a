"""The journal as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.errors import ApiError, streamed_error_responses
from onevoice.entrypoints.http.api.schemas import Event
from onevoice.entrypoints.http.api.services import ApiServices, Services
from onevoice.entrypoints.http.feed import JournalEntry, Position
from onevoice.vocabulary import AccountId

router = APIRouter(tags=["events"])

_RETRY_MILLISECONDS = 1000


class EventStream(StreamingResponse):
    """Named in the OpenAPI document by its media type."""

    media_type = "text/event-stream"


@router.get(
    "/events",
    response_class=EventStream,
    responses={
        200: {
            "description": "One event per journal entry; its `data` is an Event.",
            "content": {
                "text/event-stream": {
                    "schema": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": {"$ref": "#/components/schemas/Event"},
                    }
                }
            },
        },
        **streamed_error_responses(401, 422, 503),
    },
)
async def get_events(
    caller: Caller,
    services: Services,
    last_event_id: Annotated[
        str | None,
        Header(description="Where the stream before ended: this one goes on after it, without a gap."),
    ] = None,
) -> EventStream:
    """Every journal entry of the account from now on, or after `Last-Event-ID`, in commit order."""
    after = None
    if last_event_id:
        after = Position.parse(last_event_id)
        if after is None:
            raise ApiError(
                422,
                "invalid_request",
                "Last-Event-ID: it is not an id of this stream; send the last `id` unchanged, or none.",
                faults=[{"field": "Last-Event-ID", "message": "it is not an id of this stream"}],
            )
    stream = _stream(services, caller.account, after)
    # The first piece is awaited here: with the database down the answer is an error, not a cut stream.
    first = await anext(stream)
    return EventStream(
        _continue(first, stream),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(services: ApiServices, account: AccountId, after: Position | None) -> AsyncGenerator[str]:
    services.telemetry.event_streams.inc()
    try:
        async with services.feed.subscribe(None, account=account, after=after) as subscription:
            # An id without data moves the reader's Last-Event-ID: a cut before the first entry leaves no gap.
            yield f"retry: {_RETRY_MILLISECONDS}\nid: {subscription.position}\n\n"
            while True:
                entries = await subscription.batch(seconds_max=services.keep_alive_seconds)
                if not entries and subscription.ended:
                    return
                yield "".join(_event(entry) for entry in entries) or ": keep-alive\n\n"
    finally:
        services.telemetry.event_streams.dec()


async def _continue(first: str, rest: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


def _event(entry: JournalEntry) -> str:
    event = Event(
        id=str(entry.position),
        at=entry.at,
        kind=entry.kind,
        conversation=entry.conversation_id,
        subject=entry.subject_id,
        state=entry.state,
        reason=entry.reason,
        data=entry.data,
    )
    return f"id: {event.id}\ndata: {event.model_dump_json()}\n\n"
