"""The upload edge of the stand-in Graph API: a file in a form, read piece by piece, for an id."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onevoice.testing.gate import CallCount, Gate

_PIECE_BYTES: Final = 65_536
_KEPT_BYTES_MAX: Final = 1024 * 1024
_FORM_BYTES_MAX: Final = 16_384
_FIELD = re.compile(rb'name="(?P<name>[a-z_]+)"\r\n\r\n(?P<value>[^\r]*)\r\n')


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """One file that was handed over, read in full.

    ``fields`` are the form's texts; ``content`` is ``None`` for a file above a mebibyte, of which the digest tells.
    ``external_id`` is the id it got; ``None`` when it was refused.
    """

    path: str
    headers: Mapping[str, str]
    fields: Mapping[str, str]
    size_bytes: int
    sha256: str
    content: bytes | None
    external_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadAnswer:
    """What one upload gets instead of an id. With a ``code`` it is refused; ``gate`` is passed before the answer."""

    code: int | None = None
    http_status: int = 400
    gate: Gate | None = None
    drops: bool = False
    """The connection is closed without an answer."""


class GraphUploads:
    """What ``LoopbackGraph.uploads`` is. Without a script every file gets an id: ``910000000000001``, …

    >>> uploads = GraphUploads()
    >>> uploads.script(UploadAnswer(code=131053), UploadAnswer())
    >>> uploads.requests
    []
    """

    def __init__(self) -> None:
        self.requests: list[UploadRequest] = []
        self._answers: deque[UploadAnswer] = deque()
        self._calls = CallCount("the uploads of the loopback Graph server")

    def script(self, *answers: UploadAnswer) -> None:
        """Queue answers for the next uploads."""
        self._answers.extend(answers)

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many files have been read in all, taken or not."""
        await self._calls.reach(count, seconds_max=seconds_max)

    async def answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: str,
        headers: Mapping[str, str],
        *,
        is_token_right: bool,
    ) -> bool:
        """Read one form and answer it; false when the connection ends with it."""
        form = await _read_form(reader, headers)
        answer = self._answers.popleft() if self._answers else UploadAnswer()
        if not is_token_right:
            answer = UploadAnswer(code=190, http_status=401)
        external_id = None
        if answer.code is None and not answer.drops:
            accepted_count = sum(request.external_id is not None for request in self.requests)
            external_id = f"91{accepted_count + 1:013d}"
        self.requests.append(
            UploadRequest(
                path=path,
                headers=headers,
                fields=form.fields,
                size_bytes=form.size_bytes,
                sha256=form.digest.hexdigest(),
                content=bytes(form.content) if form.size_bytes <= _KEPT_BYTES_MAX else None,
                external_id=external_id,
            )
        )
        self._calls.note()
        if answer.gate is not None:
            await answer.gate.pass_through()
        if answer.drops:
            return False
        content: dict[str, object] = {"id": external_id}
        if answer.code is not None:
            content = {
                "error": {"message": "refused by script", "type": "OAuthException", "code": answer.code}
            }
        body = json.dumps(content).encode()
        status = 200 if answer.code is None else answer.http_status
        head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        return True


class _Form:
    def __init__(self, fields: Mapping[str, str], size_bytes: int) -> None:
        self.fields = fields
        self.size_bytes = size_bytes
        self.digest = hashlib.sha256()
        self.content = bytearray()

    def take(self, piece: bytes) -> None:
        self.digest.update(piece)
        if len(self.content) <= _KEPT_BYTES_MAX:
            self.content += piece


async def _read_form(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> _Form:
    """The texts stand before the file, whose bytes go on until the last boundary."""
    left = int(headers.get("content-length", "0"))
    boundary = headers.get("content-type", "").partition("boundary=")[2].encode()
    head = bytearray()
    while (start := _start_of_file(head)) is None:
        if not left or len(head) > _FORM_BYTES_MAX:
            raise ConnectionError("the form holds no file")
        piece = await reader.readexactly(min(left, _PIECE_BYTES))
        left -= len(piece)
        head += piece
    fields = {match["name"].decode(): match["value"].decode() for match in _FIELD.finditer(head, 0, start)}
    rest = bytes(head[start:])
    size_bytes = len(rest) + left - len(b"\r\n--" + boundary + b"--\r\n")
    form = _Form(fields, size_bytes)
    form.take(rest[:size_bytes])
    wanted = size_bytes - min(len(rest), size_bytes)
    while left:
        piece = await reader.readexactly(min(left, _PIECE_BYTES))
        left -= len(piece)
        form.take(piece[:wanted])
        wanted -= min(len(piece), wanted)
    return form


def _start_of_file(head: bytearray) -> int | None:
    named = head.find(b'name="file"')
    end = head.find(b"\r\n\r\n", named) if named >= 0 else -1
    return end + 4 if end >= 0 else None
