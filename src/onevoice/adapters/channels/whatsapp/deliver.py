"""One message to the Graph API: one call, no retry, no redirect, and an outcome that never claims too much.

Needs a client on httpx2's own transport: what tells "nothing left" from "may be accepted" is its trace,
whose ``send_request_headers.started`` comes after the connection is up and before the first byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import httpx2

from onevoice.adapters.channels.whatsapp.answer import read_bounded
from onevoice.adapters.channels.whatsapp.body import MEDIA_TYPES, message_body
from onevoice.adapters.channels.whatsapp.contact import aliases_of
from onevoice.adapters.channels.whatsapp.errors import classify, read_error
from onevoice.adapters.channels.whatsapp.shape import (
    as_list,
    as_object,
    decode_json,
    encode_json,
    identifier_at,
)
from onevoice.errors import BodyUnreadable
from onevoice.ports.channel import Accepted, Delivery, NotSent, Outcome, OutcomeUnknown, Refused

ANSWER_BYTES_MAX: Final = 1_000_000


class _DeadlinePassed(Exception):
    """The deadline passed before the first byte."""


class _AnswerUnreadable(Exception):
    """The answer cannot be read; the reason is a code."""


class _Fence:
    """Called by the transport at each of its steps; lets no first byte out once the deadline has passed."""

    def __init__(self, *, deadline: float, monotonic: Callable[[], float]) -> None:
        self._deadline = deadline
        self._monotonic = monotonic
        self.first_byte_left = False

    @property
    def remaining_seconds(self) -> float:
        return self._deadline - self._monotonic()

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        if not event.endswith(".send_request_headers.started"):
            return
        # A tunnel through a proxy is opened by a request of its own, which carries no message.
        if getattr(info.get("request"), "method", b"") == b"CONNECT":
            return
        if self.remaining_seconds <= 0:
            raise _DeadlinePassed
        self.first_byte_left = True


async def deliver(
    delivery: Delivery,
    *,
    http: httpx2.AsyncClient,
    url: str,
    access_token: str,
    monotonic: Callable[[], float],
) -> Outcome:
    """Send one part. After a cancellation the outcome is unknown unless the caller knows better."""
    fence = _Fence(deadline=delivery.deadline, monotonic=monotonic)
    if fence.remaining_seconds <= 0:
        return NotSent(reason="deadline_passed_before_connecting")
    if delivery.payload.get("type") in MEDIA_TYPES and delivery.uploaded_as is None:
        return NotSent(reason="not_uploaded")
    try:
        async with asyncio.timeout(fence.remaining_seconds):
            status, answer = await _post(http, url, access_token, encode_json(message_body(delivery)), fence)
    except _DeadlinePassed:
        return NotSent(reason="deadline_passed")
    except _AnswerUnreadable as error:
        return OutcomeUnknown(reason=str(error))
    except Exception as error:  # noqa: BLE001 - whatever failed, only "did the first byte leave" decides the outcome.
        # The error's own words may hold an address or a header: its type is all that leaves here.
        reason = type(error).__name__
        return OutcomeUnknown(reason=reason) if fence.first_byte_left else NotSent(reason=reason)
    return read_answer(status, answer)


def read_answer(status: int, answer: bytes) -> Outcome:
    """What the answer says: an error object counts whatever the status, a 2xx only with a message id."""
    try:
        holder = as_object(decode_json(answer))
    except BodyUnreadable:
        holder = {}
    succeeded = 200 <= status < 300
    if "error" in holder or not succeeded:
        code, detail = read_error(holder.get("error"))
        # An error without a code beside a 2xx says nothing definite.
        return Refused(error=classify(code, 502 if code is None and succeeded else status, detail))
    messages = as_list(holder.get("messages"))
    external_id = identifier_at(as_object(messages[0]), "id") if messages else None
    if external_id is None:
        return OutcomeUnknown(reason="accepted_without_id")
    contacts = as_list(holder.get("contacts"))
    contact = as_object(contacts[0]) if contacts else {}
    known = [identifier_at(contact, key) for key in ("wa_id", "user_id", "parent_user_id")]
    return Accepted(external_id=external_id, aliases=aliases_of(known))


async def _post(
    http: httpx2.AsyncClient, url: str, access_token: str, body: bytes, fence: _Fence
) -> tuple[int, bytes]:
    headers = {
        "authorization": f"Bearer {access_token}",
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
    }
    # Waiting for a place, for TCP and for TLS end by themselves within three quarters of the time, because a
    # handshake cancelled from outside would leave its socket open. The limit around this call ends the rest.
    seconds = fence.remaining_seconds / 4
    request = http.build_request(
        "POST",
        url,
        content=body,
        headers=headers,
        timeout=httpx2.Timeout(None, connect=seconds, pool=seconds),
        extensions={"trace": fence},
    )
    response = await http.send(request, stream=True, auth=None, follow_redirects=False)
    try:
        answer = await read_bounded(response, bytes_max=ANSWER_BYTES_MAX)
        if answer is None:
            raise _AnswerUnreadable("answer_too_large")
        return response.status_code, answer
    finally:
        await response.aclose()
