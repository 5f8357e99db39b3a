"""A posted form, read within limits: few fields, a bounded body, and no NUL that no column could keep."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.requests import Request

from onevoice.entrypoints.console.refusal import Refusal

__all__ = ["Form", "read_form"]

BODY_BYTES_MAX = 256 * 1024
TEXT_CHARS_MAX = 20_000
_FIELDS_MAX = 20
_BODY_SECONDS_MAX = 10.0
_MEDIA_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Its fields; of a repeated one the last."""

    fields: dict[str, str]

    def line(self, name: str, *, chars_max: int = 300) -> str:
        """One line without spaces at its ends; empty when there is none."""
        return self.fields.get(name, "").strip()[:chars_max]

    def text(self, name: str) -> str:
        """What somebody wrote, as they wrote it, with one kind of line end."""
        text = self.fields.get(name, "").replace("\r\n", "\n")
        if len(text) > TEXT_CHARS_MAX:
            raise Refusal(422, "too_long")
        return text

    def identity(self, name: str) -> UUID | None:
        """An id; ``None`` when the field is empty or missing."""
        value = self.line(name)
        if not value:
            return None
        try:
            return UUID(value)
        except ValueError:
            raise Refusal(422, "form_unreadable") from None


async def read_form(request: Request) -> Form:
    """The form of a request; never more than the limit is read."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _MEDIA_TYPE:
        raise Refusal(415, "form_unreadable")
    body = await _read_bytes(request)
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS_MAX, errors="strict"
        )
    except (ValueError, UnicodeDecodeError):
        raise Refusal(400, "form_unreadable") from None
    return Form(fields={name: value.replace("\x00", "") for name, value in pairs})


async def _read_bytes(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS_MAX):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    raise Refusal(413, "too_long")
    except TimeoutError:
        raise Refusal(408, "form_unreadable") from None
    return bytes(body)
