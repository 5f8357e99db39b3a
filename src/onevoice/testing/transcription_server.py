"""A transcription provider on 127.0.0.1 for tests: it speaks OpenAI's protocol, and is strict.

A request that the real provider would refuse (no key, no file, a file name whose extension is unknown) is answered with
400 or 401 and uses up no answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from pathlib import PurePosixPath
from types import TracebackType
from typing import Final, Self, cast

from onevoice.testing.agent_server import AgentAnswer, AgentRequest, LoopbackAgent
from onevoice.testing.gate import Gate

PATH: Final = "/v1/audio/transcriptions"
_EXTENSIONS: Final = frozenset({"flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionRequest:
    """One request, its form read. ``mime_type`` is what the file's part says it is."""

    authorization: str | None
    fields: Mapping[str, str]
    filename: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionFault:
    """The provider answers with an error. ``code`` is its own word, such as ``insufficient_quota``."""

    status: int
    code: str | None = None
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


TranscriptionReply = str | TranscriptionFault | AgentAnswer
"""Words, an error, or the bytes of an answer as they are."""


class LoopbackTranscription:
    """A provider that hears what a test wrote for it; ``otherwise`` is heard when the script is over.

    >>> import asyncio
    >>> async def main() -> str:
    ...     async with LoopbackTranscription("pra sexta") as provider:
    ...         return provider.url.rpartition(":")[0]
    >>> asyncio.run(main())
    'http://127.0.0.1'
    """

    def __init__(
        self,
        *script: TranscriptionReply,
        otherwise: TranscriptionReply = "transcribed words",
        api_key: str | None = None,
    ) -> None:
        """With an ``api_key``, a request that carries another one gets 401."""
        self.requests: list[TranscriptionRequest] = []
        self._script: deque[tuple[TranscriptionReply, Gate]] = deque()
        self._otherwise: TranscriptionReply = otherwise
        self._api_key = api_key
        self._server = LoopbackAgent(otherwise=self._answer)
        for reply in script:
            self.script(reply)

    @property
    def url(self) -> str:
        """What ``transcription.url`` is set to."""
        return self._server.url.removesuffix("/agent") + "/v1"

    def script(self, reply: TranscriptionReply, *, held: bool = False) -> Gate:
        """Add the next answer. ``held``: the server does not answer until the returned gate is opened."""
        gate = Gate(opened=not held)
        self._script.append((reply, gate))
        return gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many requests have arrived in all."""
        await self._server.called(count, seconds_max=seconds_max)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    async def _answer(self, request: AgentRequest) -> AgentAnswer:
        if request.path != PATH:
            return _fault(TranscriptionFault(status=404, message=f"no such path: {request.path}"))
        authorization = request.headers.get("authorization")
        if self._api_key is not None and authorization != f"Bearer {self._api_key}":
            return _fault(TranscriptionFault(status=401, code="invalid_api_key"))
        if request.method != "POST":
            return _fault(TranscriptionFault(status=405))
        heard = _read_form(request)
        extension = PurePosixPath(heard.filename).suffix.removeprefix(".")
        if extension not in _EXTENSIONS or not heard.content or not heard.fields.get("model"):
            return _fault(TranscriptionFault(status=400, code="invalid_value"))
        self.requests.append(heard)
        reply, gate = self._script.popleft() if self._script else (self._otherwise, Gate(opened=True))
        await gate.pass_through()
        if isinstance(reply, TranscriptionFault):
            return _fault(reply)
        if isinstance(reply, AgentAnswer):
            return reply
        return AgentAnswer(content={"text": reply, "usage": {"type": "duration", "seconds": 4}})


def _read_form(request: AgentRequest) -> TranscriptionRequest:
    head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
    form = message_from_bytes(head + request.body, policy=policy.HTTP)
    fields: dict[str, str] = {}
    filename, mime_type, content = "", "", b""
    for part in form.iter_parts():
        payload = cast("bytes", part.get_payload(decode=True))
        if part.get_filename() is None:
            fields[str(part.get_param("name", header="content-disposition"))] = payload.decode()
        else:
            filename, mime_type, content = str(part.get_filename()), part.get_content_type(), payload
    return TranscriptionRequest(
        authorization=request.headers.get("authorization"),
        fields=fields,
        filename=filename,
        mime_type=mime_type,
        content=content,
    )


def _fault(fault: TranscriptionFault) -> AgentAnswer:
    error = {"message": fault.message, "type": "invalid_request_error", "param": None, "code": fault.code}
    return AgentAnswer(status=fault.status, content={"error": error}, headers=fault.headers)
