"""What a model provider heard in one request, in the same words for every protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onevoice.testing import AgentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The system's text, the turns as (role, texts) without tool calls and results, and the tools on offer."""

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
        turns=_turns((message["role"], _texts(message["content"])) for message in body["messages"]),
        tools={tool["name"] for tool in body.get("tools", [])},
    )


def _gemini(body: dict[str, Any]) -> Heard:
    roles = {"user": "user", "model": "assistant"}
    return Heard(
        system="\n".join(_texts(body.get("systemInstruction", {}).get("parts"))),
        turns=_turns((roles[content["role"]], _texts(content["parts"])) for content in body["contents"]),
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
            (item["role"], _texts(item["content"])) for item in said if item["role"] in ("user", "assistant")
        ),
        tools={
            tool["function"]["name"] if "function" in tool else tool["name"] for tool in body.get("tools", [])
        },
    )


def _texts(content: Any) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if "text" in part]


def _turns(said: Any) -> list[tuple[str, list[str]]]:
    return [(role, texts) for role, texts in said if texts]
