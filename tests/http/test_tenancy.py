"""Two accounts on every call: what belongs to another is as if it were not there."""

from __future__ import annotations

import re

import pytest
from httpx2 import AsyncClient

from onevoice.entrypoints.http.api.app import OperatorApi
from tests.builders import Rows, new_id

_BODIES: dict[str, dict[str, object]] = {
    "transfer": {"to": str(new_id())},
    "notes": {"text": "Oi"},
    "messages": {"text": "Oi"},
    "effects": {"authority_version": 1, "tool": "book", "args": {}},
    "follow_ups": {"text": "Oi", "not_before": "2026-12-01T09:00:00Z"},
}
CALLS = [
    (method.upper(), path)
    for path, calls in OperatorApi().openapi()["paths"].items()
    for method in calls
    if path.startswith("/api/v1/") and path != "/api/v1/events"
]
BY_ID = [
    (method, path)
    for method, path in CALLS
    if "{" in path and "/turns/" not in path and "/effects/" not in path
]
LISTS = [path for method, path in CALLS if method == "GET" and "{" not in path and "stats" not in path]


async def filled(rows: Rows) -> dict[str, str]:
    """One of everything that a call can name, by the name of its parameter."""
    conversation = await rows.conversation(authority_state="HUMAN_ACTIVE", authority_owner=new_id())
    await rows.inbound(conversation, text="segredo")
    parked = await rows.outbound(conversation, state="parked", text="segredo")
    channel = await rows.channel(f"canal {new_id()}")
    await rows.connection.execute(
        "update channel set paused_reason = 'x', paused_at = now() where name = $1", channel
    )
    media = new_id()
    await rows.connection.execute(
        "insert into media (account_id, id, kind, filename, state, mime_type, size_bytes, created_at) "
        "values ($1, $2, 'image', 'segredo.png', 'stored', 'image/png', 7, now())",
        rows.account,
        media,
    )
    ids = {"conversation_id": conversation, "outbound_id": parked, "media_id": media, "name": channel}
    return {name: str(value) for name, value in ids.items()}


async def snapshot(rows: Rows) -> list[str]:
    """Every row of the account that a call could change."""
    found: list[str] = []
    for table in (
        "conversation",
        "outbound_message",
        "inbound_message",
        "channel",
        "note",
        "follow_up",
        "journal",
    ):
        query = f"select t::text from {table} t where account_id = $1 order by 1"  # noqa: S608 - Names are ours.
        found += [row["t"] for row in await rows.connection.fetch(query, rows.account)]
    return found


@pytest.mark.parametrize(("method", "path"), BY_ID)
async def test_a_call_that_names_what_another_account_has_finds_nothing(
    client: AsyncClient, other: Rows, method: str, path: str
) -> None:
    """404, the same as for an id that never was, and nothing of the other account changes."""
    ids = await filled(other)
    before = await snapshot(other)

    answers = [
        await client.request(
            method,
            path.format(**named),
            json=_BODIES.get(path.rpartition("/")[2]) if method == "POST" else None,
            headers={"Idempotency-Key": "k"},
        )
        for named in (ids, dict.fromkeys(ids, str(new_id())))
    ]

    assert [answer.status_code for answer in answers] == [404, 404], answers[0].text
    assert answers[0].json() == answers[1].json()
    assert await snapshot(other) == before


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_shows_nothing_of_another_account(
    client: AsyncClient, own: Rows, other: Rows, path: str
) -> None:
    """Each list shows what is one's own and no word, id or name of the other account."""
    theirs, mine = await filled(other), await filled(own)

    shown = (await client.get(path)).text

    assert "other root" not in shown
    assert not any(value in shown for value in theirs.values())
    assert any(value in shown for value in mine.values()) or '"root"' in shown


def test_every_call_is_tried() -> None:
    """A new call joins these tests by itself, unless it names something they do not make."""
    parameters = {match for _, path in BY_ID for match in re.findall(r"\{(\w+)\}", path)}

    assert parameters == {"conversation_id", "outbound_id", "media_id", "name"}
    assert len(BY_ID) >= 15
    assert len(LISTS) >= 4
