"""The OpenAPI document, and docs/api.md beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from httpx2 import AsyncClient

from onevoice.entrypoints.http.api import health
from onevoice.entrypoints.http.api.app import ROUTERS, OperatorApi
from onevoice.entrypoints.http.api.reference import table_of_calls

ROOT = Path(__file__).resolve().parents[2]

# What the published interface names, per call: the keys of its answer or of its items.
CONTRACT = {
    "ConversationPage": {"items", "next_cursor"},
    "Conversation": {"id", "channel", "contact", "authority", "unanswered_count", "oldest_unanswered_at"},
    "Contact": {"id", "name"},
    "Owner": {"id", "name"},
    "Authority": {"state", "version", "owner", "reason", "note", "since"},
    "TimelinePage": {"items", "next_cursor"},
    "InboundItem": {
        "kind", "id", "at", "state", "reason", "external_id", "type", "text", "turn", "media", "transcription",
        "transcription_state", "transcription_reason",
    },
    "InboundMedia": {"id", "kind", "state", "reason", "mime_type", "filename", "size_bytes", "seconds", "url"},
    "OutboundItem": {
        "kind", "id", "at", "state", "reason", "author", "text", "authority_version", "external_id", "key",
    },
    "TurnItem": {"kind", "id", "at", "state", "reason"},
    "EffectItem": {"kind", "id", "at", "state", "reason"},
    "AuthorityItem": {"kind", "id", "at", "state", "reason", "from", "to", "version", "owner", "note"},
    "TriageItem": {"kind", "id", "at", "state", "reason"},
    "StartedEffect": {"effect", "key", "state", "not_after_seconds"},
    "DoneEffect": {"effect", "key", "state", "result"},
    "OutboundPage": {"items", "next_cursor"},
    "ErrorBody": {"error", "message"},
}  # fmt: skip


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return OperatorApi().openapi()


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():  # pyright: ignore[reportUnknownVariableType]  # JSON of any shape.
            if key == "$ref":
                yield str(value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield from references(value)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(node, list):
        for value in node:  # pyright: ignore[reportUnknownVariableType]
            yield from references(value)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("schema", CONTRACT)
def test_each_shape_has_the_published_keys(document: dict[str, Any], schema: str) -> None:
    """Every key of the published interface is in the document, and always present in an answer."""
    shape = document["components"]["schemas"][schema]

    assert CONTRACT[schema] <= set(shape["properties"])
    assert CONTRACT[schema] <= set(shape["required"])


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    """No dangling reference, and no schema that nothing uses."""
    named = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    assert set(references(document)) == named


def test_every_call_is_described(document: dict[str, Any]) -> None:
    """Each call has an id of its own, a sentence, and a schema for each of its answers."""
    calls = [call for methods in document["paths"].values() for call in methods.values()]
    answers = [answer for call in calls for answer in call["responses"].values()]

    assert len({call["operationId"] for call in calls}) == len(calls)
    assert all(call["description"].endswith(".") for call in calls)
    assert all(media["schema"] for answer in answers for media in answer["content"].values())


def test_every_route_is_in_the_document(document: dict[str, Any]) -> None:
    """A route that the document hides would be a secret interface."""
    routers = (*ROUTERS, health.router)
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    calls = [call for methods in document["paths"].values() for call in methods.values()]

    assert len(routes) >= 26
    assert {route.name for route in routes} == {call["operationId"] for call in calls}


def test_every_call_of_the_api_needs_a_token_and_says_so(document: dict[str, Any]) -> None:
    """Calls under /api/v1 name the bearer scheme and the refusal; the probes name neither."""
    for path, calls in document["paths"].items():
        for call in calls.values():
            guarded = path.startswith("/api/v1/")
            assert ("security" in call) is guarded, path
            assert ("401" in call["responses"]) is guarded, path


async def test_the_document_is_served_and_no_page_beside_it(stranger: AsyncClient) -> None:
    """The document needs no token; the pages that load scripts from elsewhere are off."""
    answer = await stranger.get("/api/v1/openapi.json")

    assert answer.json() == OperatorApi().openapi()
    assert answer.json()["openapi"].startswith("3.1")
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert (await stranger.get(path)).status_code == 404


def test_the_page_lists_the_calls_of_the_code() -> None:
    """docs/api.md ends with the generated table."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

    assert page.endswith("\n\n" + table_of_calls())


def test_the_page_names_every_reason_of_readiness() -> None:
    """An operator finds each reason of /readyz on the page."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    source = (ROOT / "src/onevoice/entrypoints/http/api/health.py").read_text(encoding="utf-8")
    reasons = re.findall(r'return "([a-z_]+)"', source)

    assert len(reasons) == 5
    assert [reason for reason in reasons if f"`{reason}`" not in page] == []


def test_every_kind_of_event_is_named(document: dict[str, Any]) -> None:
    """Whoever reads the stream knows what may come; `subject` is explained where it is another row's id."""
    flow = ROOT / "src" / "onevoice" / "flow"
    written = {
        kind
        for path in flow.rglob("*.py")
        for kind in re.findall(r'\bEntry\(\s*kind="([a-z_]+)"', path.read_text(encoding="utf-8"))
    }
    described = document["components"]["schemas"]["Event"]["properties"]["kind"]["description"]
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

    assert {"media", "transcription", "turn", "suggestion"} <= written
    assert [kind for kind in sorted(written) if f"`{kind}`" not in described or f"`{kind}`" not in page] == []
