"""The files of the stand-in Graph API: an address for an id, and the bytes behind the address."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from onevoice.testing.gate import Gate

_PIECE: Final = bytes(range(256)) * 256
_PAGE: Final = b"<!DOCTYPE html><html><body>Sign in to continue</body></html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRequest:
    """One GET, for an address or for a file's bytes; ``headers`` have lower-case names."""

    path: str
    is_for_bytes: bool
    headers: Mapping[str, str]

    @property
    def authorization(self) -> str | None:
        return self.headers.get("authorization")


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaAnswer:
    """What one GET gets instead of the truth.

    ``body`` ``None`` are the true bytes; a header whose value is empty is left out. After ``pause_after`` bytes of it
    the answer stops at the ``gate``, if there is one; after ``cut_after`` bytes the connection is closed.
    """

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    gate: Gate | None = None
    pause_after: int = 0
    cut_after: int | None = None


NOT_FOUND: Final = MediaAnswer(status=404, body=b"")
PAGE: Final = MediaAnswer(body=_PAGE, headers={"content-type": "text/html; charset=utf-8"})


@dataclass(slots=True, kw_only=True)
class _File:
    content: bytes | None
    size_bytes: int
    mime_type: str
    address: Mapping[str, object]
    address_count: int = 0
    address_answers: deque[MediaAnswer] = field(default_factory=deque[MediaAnswer])
    byte_answers: deque[MediaAnswer] = field(default_factory=deque[MediaAnswer])

    def pieces(self) -> Iterator[bytes]:
        """The bytes; those of a file of a size alone are made on the way."""
        if self.content is not None:
            yield self.content
            return
        for start in range(0, self.size_bytes, len(_PIECE)):
            yield _PIECE[: self.size_bytes - start]


class GraphMedia:
    """What ``LoopbackGraph.media`` is: put a file in, and script what goes wrong on the way out.

    ``requests`` are all GETs as they arrived.

    >>> media = GraphMedia(lambda: "http://127.0.0.1:8080/v23.0")
    >>> len(media.put("900000000000001", b"OggS"))  # The SHA-256 that the webhook names.
    32
    >>> media.script("900000000000001", NOT_FOUND)  # The first address is stale.
    """

    def __init__(self, base_url: Callable[[], str]) -> None:
        self.requests: list[MediaRequest] = []
        self._base_url = base_url
        self._files: dict[str, _File] = {}

    def put(
        self,
        media_id: str,
        content: bytes | None = None,
        *,
        size_bytes: int = 0,
        mime_type: str = "audio/ogg; codecs=opus",
        **address: object,
    ) -> bytes:
        """Keep a file under an id and return its SHA-256; without ``content``, one of ``size_bytes`` is made up.

        ``address`` replaces fields of the first answer: ``url``, ``file_size``, ``mime_type``; ``None`` removes one.
        """
        file = _File(
            content=content,
            size_bytes=size_bytes if content is None else len(content),
            mime_type=mime_type,
            address=address,
        )
        self._files[media_id] = file
        digest = hashlib.sha256()
        for piece in file.pieces():
            digest.update(piece)
        file.address = {"sha256": base64.b64encode(digest.digest()).decode()} | dict(address)
        return digest.digest()

    def script(self, media_id: str, *answers: MediaAnswer) -> None:
        """Queue answers for the next GETs of the file's bytes."""
        self._files[media_id].byte_answers.extend(answers)

    def script_address(self, media_id: str, *answers: MediaAnswer) -> None:
        """Queue answers for the next GETs of the file's address."""
        self._files[media_id].address_answers.extend(answers)

    def withdraw(self, media_id: str) -> None:
        """Forget a file, as the platform does with an id that is too old."""
        del self._files[media_id]

    async def answer(
        self, writer: asyncio.StreamWriter, target: str, headers: Mapping[str, str], *, is_token_right: bool
    ) -> bool | None:
        """Answer a GET; says whether the connection lives on, and ``None`` when the GET is for no file."""
        parts = urlsplit(target)
        head, _, last = unquote(parts.path).rpartition("/")
        is_for_bytes = head.endswith("/files")
        if not is_for_bytes and "phone_number_id" not in parse_qs(parts.query):
            return None
        self.requests.append(MediaRequest(path=target, is_for_bytes=is_for_bytes, headers=headers))
        file = self._files.get(last.partition(".")[0])
        if not is_token_right:
            return await _write(writer, _refused(401, 190))
        if file is None:
            return await _write(writer, NOT_FOUND if is_for_bytes else _refused(400, 100))
        answers = file.byte_answers if is_for_bytes else file.address_answers
        given = answers.popleft() if answers else None
        if is_for_bytes:
            return await _write(writer, given or MediaAnswer(), file)
        return await _write(writer, given or self._address(last, file))

    def _address(self, media_id: str, file: _File) -> MediaAnswer:
        file.address_count += 1
        content: dict[str, object] = {
            "messaging_product": "whatsapp",
            "id": media_id,
            "url": f"{self._base_url()}/files/{media_id}.{file.address_count}",
            "mime_type": file.mime_type,
            "file_size": file.size_bytes,
        }
        content |= file.address
        return _json(200, {key: value for key, value in content.items() if value is not None})


def _json(status: int, content: Mapping[str, object]) -> MediaAnswer:
    return MediaAnswer(
        status=status, body=json.dumps(content).encode(), headers={"content-type": "application/json"}
    )


def _refused(status: int, code: int) -> MediaAnswer:
    error = {"message": f"(#{code}) refused", "type": "GraphMethodException", "code": code}
    return _json(status, {"error": error})


async def _write(writer: asyncio.StreamWriter, answer: MediaAnswer, file: _File | None = None) -> bool:
    """Write an answer as it is scripted; false when the connection ends with it."""
    is_true = answer.body is None and file is not None
    size_bytes = file.size_bytes if file is not None and is_true else len(answer.body or b"")
    mime_type = file.mime_type if file is not None and is_true else "application/octet-stream"
    headers = {"content-type": mime_type, "content-length": str(size_bytes)} | dict(answer.headers)
    lines = [f"HTTP/1.1 {answer.status} Scripted"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    written = 0
    for piece in file.pieces() if file is not None and is_true else iter([answer.body or b""]):
        for part in _parted(piece, written, answer):
            writer.write(part)
            written += len(part)
            await writer.drain()
            if answer.gate is not None and written == answer.pause_after:
                await answer.gate.pass_through()
            if written == answer.cut_after:
                return False
    return answer.cut_after is None


def _parted(piece: bytes, written: int, answer: MediaAnswer) -> Iterator[bytes]:
    """A piece, parted where the answer stops; an empty part stands for a stop before the first byte."""
    stops = [
        stop for stop in (answer.pause_after if answer.gate else None, answer.cut_after) if stop is not None
    ]
    places = sorted({stop - written for stop in stops if 0 <= stop - written < len(piece)})
    start = 0
    for place in [*places, len(piece)]:
        yield piece[start:place]
        start = place
