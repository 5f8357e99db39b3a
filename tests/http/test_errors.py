"""Refusals: one form, and nothing of the request in it."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import msgspec
import pytest
from fastapi import Body, FastAPI
from httpx2 import AsyncClient, Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from onevoice.entrypoints.http.api.app import OperatorApi
from onevoice.entrypoints.http.api.cursors import (
    ConversationsCursor,
    OutboundCursor,
    TimelineCursor,
    decode_cursor,
    encode_cursor,
)
from onevoice.entrypoints.http.api.errors import ApiError
from onevoice.log_format import KeyValueFormatter
from onevoice.store.database import Database
from tests.builders import Rows, new_id
from tests.http.conftest import OWN_TOKEN, caller

GUARDED = [
    (method.upper(), re.sub(r"\{\w+\}", str(new_id()), path))
    for path, calls in OperatorApi().openapi()["paths"].items()
    for method in calls
    if path.startswith("/api/v1/")
]
PHONE = "5511988887777"


def refusal(answer: Response, status: int, code: str) -> str:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/json"
    assert body["message"].endswith((".", "list", "valid")) or ":" in body["message"]
    return body["message"]


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic b3duLXRva2Vu", "own-token", "Bearer own-token x"],
)
async def test_a_call_without_a_known_token_is_refused(stranger: AsyncClient, header: str | None) -> None:
    """Every call of the API needs a token before anything else is looked at, and says how to get one."""
    headers = {} if header is None else {"Authorization": header}
    for method, path in GUARDED:
        answer = await stranger.request(method, f"{path}?limit=nonsense", headers=headers, content=b"{")

        message = refusal(answer, 401, "unauthorized")
        assert "token" in message
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=many", "limit"),
        ("state=NOBODY", "state"),
        (f"owner={PHONE}%00", "owner"),
        (f"contact={PHONE}%00", "contact"),
        ("channel=%00", "channel"),
        (f"contact={PHONE * 30}", "contact"),
        ("cursor=x", "cursor"),
    ],
)
async def test_a_wrong_parameter_is_named_and_not_repeated(
    client: AsyncClient, query: str, field: str
) -> None:
    """The refusal names the parameter and what is wrong; the value itself is not in it."""
    answer = await client.get(f"/api/v1/conversations?{query}")

    assert field in refusal(answer, 422, "invalid_request")
    assert answer.json()["faults"][0]["field"] == field
    assert PHONE not in answer.text


async def test_a_wrong_id_and_a_wrong_state_are_refused(client: AsyncClient) -> None:
    """Path and list parameters have the same form of refusal."""
    refusal(await client.get("/api/v1/conversations/17"), 422, "invalid_request")
    refusal(await client.get("/api/v1/conversations/17/timeline"), 422, "invalid_request")
    refusal(await client.get("/api/v1/outbound?state=sent"), 422, "invalid_request")
    refusal(
        await client.get("/api/v1/events", headers={"Last-Event-ID": "yesterday"}), 422, "invalid_request"
    )


async def test_an_unknown_address_and_a_wrong_method(client: AsyncClient) -> None:
    """What the framework answers by itself has the same form."""
    refusal(await client.get("/api/v1/nothing"), 404, "not_found")
    refusal(await client.get("/nothing"), 404, "not_found")
    wrong_method = await client.delete("/api/v1/conversations")
    refusal(wrong_method, 405, "method_not_allowed")
    assert wrong_method.headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_request"), (403, "forbidden"), (413, "too_large"), (418, "refused")]
)
async def test_a_refusal_of_the_framework_has_the_form(api: FastAPI, status: int, code: str) -> None:
    """Whatever status a layer below raises, the answer has a code and a sentence."""

    async def refuse() -> None:
        raise HTTPException(status, PHONE)

    api.add_api_route("/refuse", refuse)
    async with caller(api, None) as client:
        answer = await client.get("/refuse")

    refusal(answer, status, code)
    assert PHONE not in answer.text


async def test_an_unreadable_body_is_refused(api: FastAPI) -> None:
    """JSON that is none names the body and repeats nothing of it."""

    async def take(body: Annotated[dict[str, str], Body()]) -> dict[str, str]:
        return body

    api.add_api_route("/take", take, methods=["POST"])
    async with caller(api, None) as client:
        answer = await client.post(
            "/take", content=f'{{"text": {PHONE}x', headers={"content-type": "application/json"}
        )

    assert refusal(answer, 422, "invalid_request").startswith("body: ")
    assert PHONE not in answer.text


async def test_a_fault_of_ours_is_answered_and_logged_without_its_words(
    api: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected error says nothing of its cause to the caller, and only kind and place to the log."""

    async def fail() -> None:
        raise ValueError(PHONE)

    api.add_api_route("/fail", fail)
    async with caller(api, OWN_TOKEN) as client:
        answer = await client.get("/fail")
    lines = [KeyValueFormatter().format(record) for record in caplog.records]

    refusal(answer, 500, "internal_error")
    assert PHONE not in answer.text
    assert [
        line
        for line in lines
        if "event=api_fault" in line and "error=builtins.ValueError at=test_errors" in line
    ]
    assert not [line for line in lines if PHONE in line or OWN_TOKEN in line]


async def test_without_the_database_a_call_says_try_again(
    client: AsyncClient, api_database: Database
) -> None:
    """A database that is gone is no fault of the call: 503, and when to come back."""
    await api_database.close()

    for path in ("/conversations", "/outbound", "/stats", f"/conversations/{new_id()}/timeline"):
        answer = await client.get(f"/api/v1{path}")
        refusal(answer, 503, "database_unavailable")
        assert answer.headers["retry-after"] == "1"


KINDS = (ConversationsCursor, OutboundCursor, TimelineCursor)
AnyCursor = ConversationsCursor | OutboundCursor | TimelineCursor


def decoded_or_refused(text: str, kind: type[AnyCursor]) -> AnyCursor | None:
    """The cursor, or `None` for the one refusal there is; any other error fails the test."""
    try:
        return decode_cursor(text, kind)
    except ApiError as error:
        if error.status != 422:
            raise
        return None


@given(text=st.text(max_size=600))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    """Decoding never fails in another way than the refusal."""
    for kind in KINDS:
        decoded_or_refused(text, kind)


@given(
    fields=st.fixed_dictionaries(
        {"type": st.sampled_from(["conversations", "outbound", "timeline", ""])},
        optional={
            name: st.one_of(
                st.integers(), st.text(max_size=40), st.floats(), st.none(), st.datetimes().map(str),
                st.datetimes().map(lambda value: value.isoformat() + "Z"), st.uuids().map(str),
            )
            for name in ("at", "id", "seq", "inbound", "outbound", "turn_at", "turn_id", "journal")
        },
    )
)  # fmt: skip
def test_a_forged_cursor_is_within_bounds_or_refused(fields: dict[str, object]) -> None:
    """Whatever passes fits the database's types, so that no forged cursor reaches it as an error."""
    text = base64.urlsafe_b64encode(msgspec.json.encode(fields)).decode()
    for kind in KINDS:
        cursor = decoded_or_refused(text, kind)
        assert cursor is None or decoded_or_refused(encode_cursor(cursor), kind) == cursor


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.datetimes(timezones=st.just(UTC)),
    number=st.integers(),
    id=st.uuids(),
)
async def test_no_cursor_makes_the_server_fail(
    client: AsyncClient, own: Rows, at: datetime, number: int, id: UUID
) -> None:
    """Forged positions end in a page or in a refusal, never in a fault."""
    conversation = await own.conversation()
    for path, cursor in (
        ("/conversations", ConversationsCursor(at=at, id=id)),
        ("/outbound", OutboundCursor(seq=number % 2**70)),
        (
            f"/conversations/{conversation}/timeline",
            TimelineCursor(inbound=number, turn_at=at, turn_id=id, journal=number),
        ),
    ):
        answer = await client.get(f"/api/v1{path}", params={"cursor": encode_cursor(cursor)})
        assert answer.status_code in {200, 422}


async def test_a_cursor_of_another_list_is_refused(client: AsyncClient) -> None:
    """A cursor is good for the list that gave it."""
    cursor = encode_cursor(OutboundCursor(seq=3))

    assert (await client.get("/api/v1/outbound", params={"cursor": cursor})).status_code == 200
    refusal(await client.get("/api/v1/conversations", params={"cursor": cursor}), 422, "invalid_request")
