"""What a model provider heard in one request, in the same words for every protocol."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from onevoice.testing import AgentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The system's text, the turns as (role, parts) without tool calls and results, and the tools on offer.

    A part is a text, or an image as a data URL."""

    system: str
    turns: list[tuple[str, list[str]]]
    tools: set[str]


def heard(request: AgentRequest) -> Heard:
    body: dict[str, Any] = request.content
    if request.path.startswith("/v1/messages"):
        return _anthropic(body)
    if "generateContent" in request.path:
        return _gemini(body)
    return _openai(body)


def _anthropic(body: dict[str, Any]) -> Heard:
    return Heard(
        system="\n".join(_texts(body.get("system"))),
        turns=_turns((message["role"], _parts(message["content"])) for message in body["messages"]),
        tools={tool["name"] for tool in body.get("tools", [])},
    )


def _gemini(body: dict[str, Any]) -> Heard:
    roles = {"user": "user", "model": "assistant"}
    return Heard(
        system="\n".join(_texts(body.get("systemInstruction", {}).get("parts"))),
        turns=_turns((roles[content["role"]], _parts(content["parts"])) for content in body["contents"]),
        tools={
            declared["name"]
            for tool in body.get("tools", [])
            for declared in tool.get("functionDeclarations", [])
        },
    )


def _openai(body: dict[str, Any]) -> Heard:
    items = body["messages"] if "messages" in body else body["input"]
    said = [item for item in items if item.get("role") in ("system", "developer", "user", "assistant")]
    system = [body.get("instructions") or ""]
    system += ["\n".join(_texts(item["content"])) for item in said if item["role"] in ("system", "developer")]
    return Heard(
        system="\n".join(system),
        turns=_turns(
            (item["role"], _parts(item["content"])) for item in said if item["role"] in ("user", "assistant")
        ),
        tools={
            tool["function"]["name"] if "function" in tool else tool["name"] for tool in body.get("tools", [])
        },
    )


def _texts(content: Any) -> list[str]:
    return [part for part in _parts(content) if not part.startswith("data:")]


def _parts(content: Any) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [said for part in content if (said := _said(part)) is not None]


def _said(part: dict[str, Any]) -> str | None:
    """A text, or an image in any provider's words as a data URL; ``None`` for a tool's call or result."""
    if "text" in part:
        return part["text"]
    if "inlineData" in part:
        # As its SDK writes it: base64 in the alphabet for URLs.
        content = base64.urlsafe_b64decode(part["inlineData"]["data"])
        return data_url(part["inlineData"]["mime_type"], content)
    match part.get("type"):
        case "image":
            return f"data:{part['source']['media_type']};base64,{part['source']['data']}"
        case "image_url":
            return part["image_url"]["url"]
        case "input_image":
            return part["image_url"]
    return None


def data_url(mime_type: str, content: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


def _turns(said: Any) -> list[tuple[str, list[str]]]:
    return [(role, texts) for role, texts in said if texts]
