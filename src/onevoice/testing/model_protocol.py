"""The protocols of the loopback model: what each refuses, how it words an answer and an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from onevoice.testing.agent_server import AgentRequest

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model says: a text, calls as (id, name, arguments), or a refusal."""

    text: str | None
    calls: tuple[tuple[str, str, Json], ...]
    refused: bool
    input_tokens: int
    output_tokens: int


class ProviderProtocol(Protocol):
    def refuse(self, request: AgentRequest) -> tuple[int, str] | None:
        """Status and sentence for a request that the real provider would not take."""
        ...

    def encode(self, reply: Reply, request: AgentRequest) -> Mapping[str, object]: ...

    def encode_fault(
        self, status: int, type_: str, message: str, *, code: str | None = None
    ) -> Mapping[str, object]: ...


def protocol_of(path: str) -> ProviderProtocol | None:
    """The protocol that is spoken at this path.

    >>> protocol_of("/v1/messages").encode_fault(529, "overloaded_error", "busy")["type"]
    'error'
    """
    bare = path.partition("?")[0]
    if bare == "/v1/messages":
        return Anthropic()
    if re.fullmatch(r"/v1(beta)?/models/[^/:]+:generateContent", bare):
        return Gemini()
    return {"/v1/chat/completions": OpenAiChat(), "/v1/responses": OpenAiResponses()}.get(bare)


class Anthropic:
    def refuse(self, request: AgentRequest) -> tuple[int, str] | None:
        if not request.headers.get("x-api-key") and not _has_bearer(request):
            return 401, "x-api-key header is required"
        if not request.headers.get("anthropic-version"):
            return 400, "anthropic-version: header is required"
        messages = cast("list[Json]", request.content["messages"])
        if not messages or messages[0]["role"] != "user":
            return 400, "messages: first message must use the user role"
        for position, message in enumerate(messages):
            blocks = _blocks(message["content"])
            if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
                return 400, f"messages.{position}: text content blocks must be non-empty"
            following = _blocks(messages[position + 1]["content"]) if position + 1 < len(messages) else []
            wanted = {block["id"] for block in blocks if block["type"] == "tool_use"}
            given = {block["tool_use_id"] for block in following if block["type"] == "tool_result"}
            if wanted != given:
                return 400, f"messages.{position}: tool_use ids without tool_result blocks immediately after"
        return None

    def encode(self, reply: Reply, request: AgentRequest) -> Mapping[str, object]:
        content: list[Json] = [] if reply.text is None else [{"type": "text", "text": reply.text}]
        content += [
            {"type": "tool_use", "id": call_id, "name": name, "input": args}
            for call_id, name, args in reply.calls
        ]
        reason = "refusal" if reply.refused else "tool_use" if reply.calls else "end_turn"
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.content["model"],
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
        }

    def encode_fault(
        self, status: int, type_: str, message: str, *, code: str | None = None
    ) -> Mapping[str, object]:
        error: Json = {"type": type_, "message": message}
        if code is not None:
            error["details"] = {"error_code": code}
        return {"type": "error", "error": error, "request_id": "req_1"}


class Gemini:
    def refuse(self, request: AgentRequest) -> tuple[int, str] | None:
        if not request.headers.get("x-goog-api-key"):
            return 403, "Method doesn't allow unregistered callers"
        contents = cast("list[Json]", request.content["contents"])
        if not contents or contents[0]["role"] != "user":
            return 400, "Please ensure that the first turn is a user turn."
        for position, content in enumerate(contents):
            if not content.get("parts") or any(part == {"text": ""} for part in content["parts"]):
                return 400, "contents.parts must not be empty"
            following: Json = contents[position + 1] if position + 1 < len(contents) else {"parts": []}
            wanted = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
            given = [
                part["functionResponse"]["name"] for part in following["parts"] if "functionResponse" in part
            ]
            if wanted != given:
                return (
                    400,
                    "function response parts must equal the function call parts of the function call turn",
                )
        return None

    def encode(self, reply: Reply, request: AgentRequest) -> Mapping[str, object]:
        usage = {
            "promptTokenCount": reply.input_tokens,
            "candidatesTokenCount": reply.output_tokens,
            "totalTokenCount": reply.input_tokens + reply.output_tokens,
        }
        model = request.path.rpartition("/")[2].partition(":")[0]
        if reply.refused:
            return {
                "promptFeedback": {"blockReason": "SAFETY"},
                "usageMetadata": usage,
                "modelVersion": model,
            }
        parts: list[Json] = [] if reply.text is None else [{"text": reply.text}]
        parts += [{"functionCall": {"id": i, "name": name, "args": args}} for i, name, args in reply.calls]
        return {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": usage,
            "modelVersion": model,
        }

    def encode_fault(
        self, status: int, type_: str, message: str, *, code: str | None = None
    ) -> Mapping[str, object]:
        error: Json = {"code": status, "message": message, "status": type_}
        if code is not None:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": code}]
        return {"error": error}


class _OpenAi:
    def encode_fault(
        self, status: int, type_: str, message: str, *, code: str | None = None
    ) -> Mapping[str, object]:
        return {"error": {"message": message, "type": type_, "param": None, "code": code}}


class OpenAiChat(_OpenAi):
    def refuse(self, request: AgentRequest) -> tuple[int, str] | None:
        if not _has_bearer(request):
            return 401, "You didn't provide an API key."
        messages = cast("list[Json]", request.content["messages"])
        open_calls: set[str] = set()
        for message in messages:
            if message["role"] == "tool":
                open_calls.discard(message["tool_call_id"])
            elif open_calls:
                break
            open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
        return (400, "tool_calls must be followed by tool messages") if open_calls else None

    def encode(self, reply: Reply, request: AgentRequest) -> Mapping[str, object]:
        message: Json = {"role": "assistant", "content": reply.text}
        if reply.refused:
            message["refusal"] = "I cannot help with that."
        if reply.calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
                for i, name, args in reply.calls
            ]
        return {
            "id": "chatcmpl_1",
            "object": "chat.completion",
            "created": 0,
            "model": request.content["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop"}
            ],
            "usage": {
                "prompt_tokens": reply.input_tokens,
                "completion_tokens": reply.output_tokens,
                "total_tokens": reply.input_tokens + reply.output_tokens,
            },
        }


class OpenAiResponses(_OpenAi):
    def refuse(self, request: AgentRequest) -> tuple[int, str] | None:
        if not _has_bearer(request):
            return 401, "You didn't provide an API key."
        given = request.content["input"]
        items = cast("list[Json]", given if isinstance(given, list) else [])
        wanted = _ids(items, "function_call")
        return (
            None
            if wanted == _ids(items, "function_call_output")
            else (400, "No tool output found for function call")
        )

    def encode(self, reply: Reply, request: AgentRequest) -> Mapping[str, object]:
        content: list[Json] = []
        if reply.refused:
            content.append({"type": "refusal", "refusal": "I cannot help with that."})
        elif reply.text is not None:
            content.append({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []})
        output: list[Json] = []
        if content:
            output.append(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            )
        output += [
            {
                "id": f"fc_{call_id}",
                "type": "function_call",
                "status": "completed",
                "call_id": call_id,
                "name": name,
                "arguments": json.dumps(args),
            }
            for call_id, name, args in reply.calls
        ]
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": request.content["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": reply.input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": reply.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": reply.input_tokens + reply.output_tokens,
            },
        }


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[Json]", content)


def _ids(items: Iterable[Json], kind: str) -> set[str]:
    return {item["call_id"] for item in items if item.get("type") == kind}


def _has_bearer(request: AgentRequest) -> bool:
    return request.headers.get("authorization", "").startswith("Bearer ")
