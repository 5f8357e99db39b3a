"""A model provider on 127.0.0.1 for tests: it speaks Anthropic's, Google's and OpenAI's protocols, and is strict.

The path of a request says which protocol it is. A request that the real provider would refuse (no key, a blank text, a
tool call without its result) is answered with 400 or 401 and uses up no reply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from onevoice.testing.agent_server import AgentAnswer, AgentRequest, LoopbackAgent
from onevoice.testing.gate import Gate
from onevoice.testing.model_protocol import Reply, protocol_of
from onevoice.testing.model_stream import stream_fault, stream_reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model wants a tool called."""

    name: str
    args: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFault:
    """The provider answers with an error. ``type`` is the provider's own word, such as ``overloaded_error``.

    With ``status=200`` the error comes inside a stream that had begun well.
    """

    status: int
    type: str = "api_error"
    message: str = "scripted"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The model refuses to answer."""


ModelReply = str | ToolCall | tuple[ToolCall, ...] | ModelFault | Refusal
INPUT_TOKENS = 12
OUTPUT_TOKENS = 3


class LoopbackModel:
    """A provider that answers from a script, a text or a tool call each time; ``otherwise`` when it is over.

    ``otherwise`` may be a function of the request's JSON. ``requests`` are all requests as they arrived.

    >>> async def main() -> str:
    ...     async with LoopbackModel("Hello!") as model:
    ...         return model.url.rpartition(":")[0]
    >>> asyncio.run(main())
    'http://127.0.0.1'
    """

    def __init__(
        self,
        *script: ModelReply,
        otherwise: ModelReply | Callable[[dict[str, object]], ModelReply] = "Hello!",
    ) -> None:
        self._script: deque[ModelReply] = deque(script)
        self._otherwise = otherwise
        self._call_count = 0
        self._server = LoopbackAgent(otherwise=self._answer)

    @property
    def url(self) -> str:
        """Without a path, as most SDKs take it; OpenAI's take ``/v1`` behind it."""
        return self._server.url.removesuffix("/agent")

    @property
    def requests(self) -> list[AgentRequest]:
        return self._server.requests

    def script(self, *replies: ModelReply) -> None:
        """Add the next replies."""
        self._script.extend(replies)

    def hold(self) -> Gate:
        """The next request is not answered until the returned gate is opened; later ones follow the script."""
        return self._server.script(self._answer, held=True)

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

    def _answer(self, request: AgentRequest) -> AgentAnswer:
        protocol = protocol_of(request.path)
        if protocol is None:
            return AgentAnswer(status=404, content={"error": {"message": f"no such path: {request.path}"}})
        refused = protocol.refuse(request)
        if refused is not None:
            status, message = refused
            return AgentAnswer(
                status=status, content=protocol.encode_fault(status, "invalid_request_error", message)
            )
        reply = self._next(request)
        if request.content.get("stream"):
            return _streamed(reply if isinstance(reply, ModelFault) else self._described(reply), request)
        if isinstance(reply, ModelFault):
            content = protocol.encode_fault(reply.status, reply.type, reply.message, code=reply.code)
            return AgentAnswer(status=reply.status, content=content, headers=reply.headers)
        return AgentAnswer(content=protocol.encode(self._described(reply), request))

    def _next(self, request: AgentRequest) -> ModelReply:
        if self._script:
            return self._script.popleft()
        return self._otherwise(request.content) if callable(self._otherwise) else self._otherwise

    def _described(self, reply: str | ToolCall | tuple[ToolCall, ...] | Refusal) -> Reply:
        calls = (reply,) if isinstance(reply, ToolCall) else reply if isinstance(reply, tuple) else ()
        self._call_count += len(calls)
        first = self._call_count - len(calls)
        return Reply(
            text=reply if isinstance(reply, str) else None,
            calls=tuple(
                (f"call_{first + position}", call.name, dict(call.args))
                for position, call in enumerate(calls)
            ),
            refused=isinstance(reply, Refusal),
            input_tokens=INPUT_TOKENS,
            output_tokens=OUTPUT_TOKENS,
        )


def _streamed(reply: Reply | ModelFault, request: AgentRequest) -> AgentAnswer:
    """Server-sent events, as Anthropic sends them; the other protocols are spoken without."""
    if not request.path.startswith("/v1/messages"):
        return AgentAnswer(status=501, content={"error": {"message": "streaming is not spoken here"}})
    model = str(request.content["model"])
    if isinstance(reply, Reply):
        return AgentAnswer(body=stream_reply(reply, model), headers={"content-type": "text/event-stream"})
    content = {"type": "error", "error": {"type": reply.type, "message": reply.message}}
    if reply.status != 200:
        return AgentAnswer(status=reply.status, content=content, headers=reply.headers)
    return AgentAnswer(body=stream_fault(content, model), headers={"content-type": "text/event-stream"})
