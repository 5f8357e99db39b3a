"""An HTTP agent on 127.0.0.1 for tests: records what it is asked and answers from a script."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

from onevoice.testing.gate import CallCount, Gate

SIGNATURE_HEADER = "x-onevoice-signature"
HEADER_BYTES_MAX = 65_536
REASON_PHRASE = "Scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One request as it arrived. ``headers`` have lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    signature_valid: bool

    @property
    def content(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self.body))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """A JSON ``content``, or a ``body`` as it is; ``hang_up`` closes the connection without an answer."""

    content: Mapping[str, object] | None = None
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hang_up: bool = False

    def encode(self) -> bytes:
        body = self.body if self.content is None else json.dumps(self.content).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status} {REASON_PHRASE}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body


AgentReply = (
    AgentAnswer
    | Mapping[str, object]
    | Callable[
        [AgentRequest], "AgentAnswer | Mapping[str, object] | Awaitable[AgentAnswer | Mapping[str, object]]"
    ]
)


class LoopbackAgent:
    """An agent behind HTTP, as contract section 4 draws it, listening on a free port of 127.0.0.1.

    ``script`` adds the next answers; when they are over, ``otherwise`` answers. An answer may be a function of
    the request, async too. With a ``secret``, a request whose signature does not match gets 401 and no answer is
    used up.

    >>> async def main() -> str:
    ...     async with LoopbackAgent(otherwise={"messages": [{"text": "Hello!"}]}) as agent:
    ...         return agent.url.rpartition(":")[0]
    >>> asyncio.run(main())
    'http://127.0.0.1'
    """

    def __init__(
        self, *script: AgentReply, otherwise: AgentReply | None = None, secret: str | None = None
    ) -> None:
        self.requests: list[AgentRequest] = []
        self._otherwise: AgentReply = {} if otherwise is None else otherwise
        self._secret = secret
        self._script: deque[tuple[AgentReply, Gate]] = deque()
        self._calls = CallCount("the loopback agent")
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        for reply in script:
            self.script(reply)

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError("the loopback agent does not listen yet; use it as an async context manager")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/agent"

    def script(self, reply: AgentReply, *, held: bool = False) -> Gate:
        """Add the next answer. ``held``: the server does not answer until the returned gate is opened."""
        gate = Gate(opened=not held)
        self._script.append((reply, gate))
        return gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many requests have arrived in all."""
        await self._calls.reach(count, seconds_max=seconds_max)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEADER_BYTES_MAX)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._read(reader)
            if request is not None:
                answer = await self._answer(request)
                if not answer.hang_up:
                    writer.write(answer.encode())
                    await writer.drain()
        except ConnectionError:
            return  # The caller gave up first: the time-out under test.
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> AgentRequest | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            named = (line.partition(":") for line in lines[1:] if line)
            headers = {name.lower(): value.strip() for name, _, value in named}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        except asyncio.IncompleteReadError:
            return None
        return AgentRequest(
            method=method,
            path=path,
            headers=headers,
            body=body,
            signature_valid=self._is_signed(headers, body),
        )

    async def _answer(self, request: AgentRequest) -> AgentAnswer:
        self.requests.append(request)
        if not request.signature_valid:
            self._calls.note()
            return AgentAnswer(status=401, content={"error": "signature_invalid"})
        reply, gate = self._script.popleft() if self._script else (self._otherwise, Gate(opened=True))
        self._calls.note()
        await gate.pass_through()
        if isinstance(reply, AgentAnswer):
            return reply
        if not callable(reply):
            return AgentAnswer(content=reply)
        content = reply(request)
        if isinstance(content, Awaitable):
            content = await content
        return content if isinstance(content, AgentAnswer) else AgentAnswer(content=content)

    def _is_signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        if self._secret is None:
            return True
        expected = "sha256=" + hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(headers.get(SIGNATURE_HEADER, "").encode(), expected.encode())
