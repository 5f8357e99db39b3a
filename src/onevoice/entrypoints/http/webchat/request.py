"""Reading a request within limits: who asks, from where, and a small JSON body."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from onevoice.entrypoints.http.origin import comes_from_own_page

__all__ = ["Refusal", "check_origin", "read_body", "slow_down"]

BODY_BYTES_MAX = 16 * 1024
_BODY_SECONDS_MAX = 10.0

Body = TypeVar("Body")


class Refusal(Exception):
    """The request is answered with this error and nothing is done."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}

    def response(self) -> Response:
        return JSONResponse(
            {"error": self.code, "message": self.message}, status_code=self.status, headers=dict(self.headers)
        )


def slow_down(wait_seconds: float) -> Refusal:
    seconds = max(1, math.ceil(wait_seconds))
    return Refusal(
        429,
        "too_many_requests",
        f"Too many requests; try again in {seconds} s.",
        headers={"retry-after": str(seconds)},
    )


def check_origin(request: Request, public_url: str) -> None:
    """Refuse a request that another site's page makes with the visitor's cookie."""
    if not comes_from_own_page(request, public_url):
        raise Refusal(
            403,
            "origin_refused",
            "The request does not come from the chat page; behind a proxy, set server.public_url.",
        )


async def read_body(request: Request, kind: type[Body]) -> Body:
    """The JSON body, as a record; never more than the limit is read."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "json_expected", "Send the body as application/json.")
    try:
        return msgspec.json.decode(await _read_bytes(request), type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(422, "body_invalid", f"The body has another shape than expected: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "body_unreadable", "The body is no JSON.") from None


async def _read_bytes(request: Request) -> bytes:
    too_large = Refusal(413, "body_too_large", f"The body may have at most {BODY_BYTES_MAX} bytes.")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > BODY_BYTES_MAX:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS_MAX):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, "body_too_slow", "The body did not arrive in time.") from None
    return bytes(body)
