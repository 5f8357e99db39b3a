"""A stand-in for the Graph API on loopback: it records every request and answers as scripted.

What it took is the only outside truth of a test: ``messages`` are what customers would have received, whatever
the sender was told. Nothing here sends webhooks; a test posts the statuses and messages it wants.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from onevoice.testing.gate import CallCount, Gate
from onevoice.testing.graph_media import GraphMedia
from onevoice.testing.graph_uploads import GraphUploads

_HEAD_BYTES_MAX: Final = 65_536

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRequest:
    """One send call, read in full. ``at`` is its arrival on the event loop's monotonic scale, in seconds.

    ``external_id`` is the id the message got; ``None`` when it was refused.
    """

    at: float
    path: str
    headers: Mapping[str, str]
    body: Json
    external_id: str | None = None

    @property
    def address(self) -> str:
        """Whom it is for: ``to``, else ``recipient``, as the API weighs them."""
        return str(self.body.get("to") or self.body.get("recipient") or "")

    @property
    def text(self) -> str:
        text = self.body.get("text")
        return str(cast("Json", text).get("body", "")) if isinstance(text, dict) else ""

    @property
    def correlation_id(self) -> str | None:
        value = self.body.get("biz_opaque_callback_data")
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Takes the message. ``wa_id`` is what the answer calls the customer; by default, as addressed."""

    wa_id: str | None = None
    user_id: str | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Refuses it with an error code of the API."""

    code: int
    http_status: int = 400
    message: str = "refused by script"
    details: str = "refused by script"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answers with these very bytes. ``accepted`` says whether the message was taken all the same."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    accepted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Reads the request and stops at the gate; once it is opened, answers as ``then`` says.

    What is decided is decided before the gate: a message that ``then`` accepts is taken at once.
    """

    gate: Gate = field(default_factory=Gate)
    then: Answer = field(default_factory=Accept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Answers as ``then`` says, after so many seconds."""

    seconds: float
    then: Answer = field(default_factory=Accept)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRead:
    """Reads the request and closes the connection, having taken the message or not."""

    accepted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DropUnread:
    """Resets the connection at the request's first byte, unread and unrecorded; so it is for no address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakOff:
    """Takes the message and closes the connection in the middle of the answer."""


Answer = Accept | Refuse | Reply | Hang | Slow | DropRead | DropUnread | BreakOff


class LoopbackGraph:
    """The server. Use it as an async context manager, or ``start`` and ``stop`` it.

    >>> async def main() -> str:
    ...     async with LoopbackGraph() as graph:
    ...         graph.script("5511999990000", Refuse(code=131056), Accept())
    ...         return graph.url.rpartition(":")[0]
    >>> asyncio.run(main())
    'http://127.0.0.1'
    """

    def __init__(self, *, access_token: str | None = None) -> None:
        """With an ``access_token``, a call that carries another one gets 401 and code 190."""
        self.requests: list[GraphRequest] = []
        self.marks: list[Json] = []
        """Calls that are no messages: read receipts and typing signs."""
        self.media = GraphMedia(lambda: self.url)
        """The files that can be fetched."""
        self.uploads = GraphUploads()
        """The files that were handed over."""
        self._access_token = access_token
        self._scripts: dict[str | None, deque[Answer]] = {}
        self._calls = CallCount("the loopback Graph server")
        self._accepted_count = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; a port lets a restarted server keep its address."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=_HEAD_BYTES_MAX)

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> LoopbackGraph:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the loopback Graph server is not started: call start() first")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """What a channel's ``graph_url`` is set to."""
        return f"http://127.0.0.1:{self.port}/v23.0"

    @property
    def messages(self) -> list[GraphRequest]:
        """The messages that were taken, in the order in which they arrived."""
        return [request for request in self.requests if request.external_id is not None]

    def script(self, address: str | None, *answers: Answer) -> None:
        """Queue answers for the next requests to an address, or to any (``None``); without one, it accepts.

        An address's own answers come before those for any address.
        """
        self._scripts.setdefault(address, deque()).extend(answers)

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many messages have been read in all, taken or not."""
        await self._calls.reach(count, seconds_max=seconds_max)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_request(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # The caller gave up first, which is what some tests are about.
        finally:
            writer.close()

    async def _serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; false when the connection ends with it."""
        first = await reader.read(1)
        if not first:
            return False
        if isinstance(self._next_for(None), DropUnread):
            self._scripts[None].popleft()
            writer.transport.abort()
            return False
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        named = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in named}
        method, path, _ = head[0].split(" ", 2)
        if method == "POST" and path.endswith("/media"):
            is_token_right = self._is_token_right(headers)
            return await self.uploads.answer(reader, writer, path, headers, is_token_right=is_token_right)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return await self._answer(writer, f"{method} {path}", headers, body)

    async def _answer(
        self, writer: asyncio.StreamWriter, call: str, headers: Mapping[str, str], body: bytes
    ) -> bool:
        if call.startswith("GET "):
            lives = await self.media.answer(
                writer, call.removeprefix("GET "), headers, is_token_right=self._is_token_right(headers)
            )
            if lives is not None:
                return lives
        refusal = self._refusal(call, headers)
        if refusal is not None:
            writer.write(_response(refusal, None))
            return True
        content = _json_object(body)
        if "status" in content:
            self.marks.append(content)
            writer.write(_encode(200, b'{"success":true}', {}))
            return True
        request = GraphRequest(
            at=asyncio.get_running_loop().time(), path=call.partition(" ")[2], headers=headers, body=content
        )
        answer: Answer = self._take_answer(request.address)
        request = replace(request, external_id=self._new_external_id(_last(answer)))
        self.requests.append(request)
        self._calls.note()
        while isinstance(answer, Hang | Slow):
            await _wait(answer)
            answer = answer.then
        if isinstance(answer, DropRead | DropUnread):
            return False
        response = _response(answer, request)
        if isinstance(answer, BreakOff):
            writer.write(response[: len(response) - 20])
            return False
        writer.write(response)
        return True

    def _refusal(self, call: str, headers: Mapping[str, str]) -> Refuse | None:
        if not self._is_token_right(headers):
            return Refuse(code=190, http_status=401, message="Invalid OAuth access token")
        if not (call.startswith("POST ") and call.endswith("/messages")):
            return Refuse(code=803, http_status=404, message="Some of the aliases you requested do not exist")
        return None

    def _is_token_right(self, headers: Mapping[str, str]) -> bool:
        return self._access_token is None or headers.get("authorization") == f"Bearer {self._access_token}"

    def _next_for(self, address: str | None) -> Answer | None:
        script = self._scripts.get(address)
        return script[0] if script else None

    def _take_answer(self, address: str) -> Answer:
        for key in (address, None):
            if self._next_for(key) is not None:
                return self._scripts[key].popleft()
        return Accept()

    def _new_external_id(self, answer: Answer) -> str | None:
        if not _accepts(answer):
            return None
        self._accepted_count += 1
        given = answer.external_id if isinstance(answer, Accept) else None
        return given or f"wamid.LOOPBACK.{self._accepted_count:06d}"


def _last(answer: Answer) -> Answer:
    while isinstance(answer, Hang | Slow):
        answer = answer.then
    return answer


def _accepts(answer: Answer) -> bool:
    if isinstance(answer, Reply | DropRead):
        return answer.accepted
    return isinstance(answer, Accept | BreakOff)


async def _wait(answer: Hang | Slow) -> None:
    if isinstance(answer, Hang):
        await answer.gate.pass_through()
        return
    # Real time passes here by design: a slow channel is slow.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(answer.seconds):
            await asyncio.Event().wait()


def _response(answer: Answer, request: GraphRequest | None) -> bytes:
    if isinstance(answer, Reply):
        return _encode(answer.status, answer.body, answer.headers)
    if isinstance(answer, Refuse):
        error = {
            "message": f"(#{answer.code}) {answer.message}",
            "type": "OAuthException",
            "code": answer.code,
            "error_data": {"messaging_product": "whatsapp", "details": answer.details},
            "fbtrace_id": "AexampleTrace",
        }
        return _encode(answer.http_status, json.dumps({"error": error}).encode(), {})
    address = request.address if request else ""
    contact: Json = {"input": address}
    if request is not None and "to" in request.body:
        contact["wa_id"] = address
    else:
        contact["user_id"] = address
    if isinstance(answer, Accept):
        contact |= {
            key: value for key, value in (("wa_id", answer.wa_id), ("user_id", answer.user_id)) if value
        }
    message = {"id": request.external_id if request else None, "message_status": "accepted"}
    content = {"messaging_product": "whatsapp", "contacts": [contact], "messages": [message]}
    return _encode(200, json.dumps(content).encode(), {})


def _encode(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", f"content-length: {len(body)}"]
    lines += [
        f"{name}: {value}" for name, value in ({"content-type": "application/json"} | dict(headers)).items()
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _json_object(body: bytes) -> Json:
    try:
        value: object = json.loads(body)
    except ValueError:
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}
