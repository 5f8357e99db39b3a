"""Whatever bytes come through the real door, the answer is no 5xx and the process lives on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import pytest
from httpx2 import ASGITransport, AsyncClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests import progress, proof
from tests.fuzz.door import open_door
from tests.progress import IS_LONG
from tests.wire.whatsapp.wire import ROUTE, sign

if TYPE_CHECKING:
    from onevoice.store.database import Database

BODIES_PER_CALL = 40
CALLS = 50_100 if IS_LONG else 510

KEYS = st.sampled_from(
    ["object", "entry", "changes", "value", "field", "messages", "statuses", "contacts", "metadata", "from", "id",
     "timestamp", "type", "text", "body", "errors", "code", "recipient_id", "status", "phone_number_id", "context",
     "image", "audio", "reaction", "interactive", "message_echoes", "edit", "revoke", "wa_id", "profile", "name"]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "whatsapp_business_account",
        "messages",
        "text",
        "failed",
        "delivered",
        "1",
        "-1",
        "9" * 40,
        "\x00",
        "\ud800",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
MESSAGES = st.fixed_dictionaries(
    {
        "from": WORDS | st.just("5511999990000"),
        "id": st.text(max_size=12) | WORDS,
        "timestamp": WORDS | VALUES,
    },
    optional={"type": WORDS | VALUES, "text": VALUES, "context": VALUES, "image": VALUES, "reaction": VALUES},
)


def wrapped(value: Any) -> bytes:
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        value = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": ROUTE}, **given}
    body = {
        "object": "whatsapp_business_account",
        "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}],
    }
    return json.dumps(body).encode("utf-8", "surrogatepass")


BODIES = (
    st.binary(max_size=300)
    | VALUES.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
    | VALUES.map(wrapped)
    | st.lists(MESSAGES, max_size=3).map(lambda messages: wrapped({"messages": messages}))
    | st.lists(
        st.fixed_dictionaries(
            {"id": WORDS | st.text(max_size=12), "status": WORDS}, optional={"errors": VALUES}
        ),
        max_size=3,
    ).map(lambda statuses: wrapped({"statuses": statuses}))
    | st.integers(1, 300).map(lambda depth: b"[" * depth + b"]" * depth)
)


@pytest.fixture
async def door(database: Database) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(trust_env=False) as outside:
        transport = ASGITransport(app=open_door(database, outside), raise_app_exceptions=False)
        async with AsyncClient(transport=transport, base_url="http://onevoice.test") as client:
            yield client


@pytest.mark.slow
@pytest.mark.timeout(0)
@settings(
    max_examples=CALLS,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=tuple(HealthCheck),
)
@given(bodies=st.lists(BODIES, min_size=BODIES_PER_CALL, max_size=BODIES_PER_CALL))
async def test_no_body_breaks_the_door(door: AsyncClient, bodies: list[bytes]) -> None:
    """Signed as if they were Meta's: every answer is a 2xx or a 4xx."""
    answers = await asyncio.gather(
        *(
            door.post("/webhooks/loja", content=body, headers={"x-hub-signature-256": sign(body)})
            for body in bodies
        )
    )
    for body, answer in zip(bodies, answers, strict=True):
        assert answer.status_code < 500, body
    proof.count(fuzz_inputs=len(bodies))
    progress.tick("inputs", len(bodies))
