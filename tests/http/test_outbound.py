"""GET /outbound."""

from __future__ import annotations

import pytest
from httpx2 import AsyncClient

from tests.builders import Rows


@pytest.mark.parametrize("state", ["parked", "uncertain", "failed"])
async def test_each_state_lists_its_messages_newest_first(client: AsyncClient, own: Rows, state: str) -> None:
    """Only messages of the state asked for are listed, the newest first, over pages."""
    conversation = await own.conversation()
    made = [str(await own.outbound(conversation, state=state)) for _ in range(3)]
    for other_state in {"parked", "uncertain", "failed", "sent", "due", "revoked"} - {state}:
        await own.outbound(conversation, state=other_state)

    first = (await client.get("/api/v1/outbound", params={"state": state, "limit": 2})).json()
    second = (
        await client.get("/api/v1/outbound", params={"state": state, "cursor": first["next_cursor"]})
    ).json()

    assert [item["id"] for item in first["items"]] == [made[2], made[1]]
    assert [item["id"] for item in second["items"]] == [made[0]]
    assert second["next_cursor"] is None


async def test_an_item_names_conversation_and_contact(client: AsyncClient, own: Rows) -> None:
    """Without a state the parked ones are listed, each with what an operator needs to decide."""
    conversation = await own.conversation()
    message = await own.outbound(
        conversation, state="parked", reason="needs_template", error_code="131047", key="k"
    )

    assert (await client.get("/api/v1/outbound")).json() == {
        "items": [
            {
                "id": str(message),
                "conversation": str(conversation),
                "channel": "loja",
                "contact": {"id": "5511999990000", "name": "Ana"},
                "at": "2026-11-30T12:00:00Z",
                "state": "parked",
                "reason": "needs_template",
                "author": "system",
                "type": "text",
                "text": "Olá!",
                "media": None,
                "buttons": None,
                "menu": None,
                "template": None,
                "reaction": None,
                "authority_version": 1,
                "external_id": None,
                "key": "k",
                "turn": None,
                "operator": None,
                "part": 1,
                "part_count": 1,
                "attempt_count": 0,
                "sent_at": None,
                "delivered_at": None,
                "read_at": None,
                "fault": {"code": "131047", "detail": None},
            }
        ],
        "next_cursor": None,
    }


async def test_another_accounts_messages_are_invisible(
    client: AsyncClient, other_client: AsyncClient, other: Rows
) -> None:
    """A parked message of another account is in no page of this one."""
    theirs = await other.outbound(await other.conversation(), state="parked")

    assert (await client.get("/api/v1/outbound")).json()["items"] == []
    [shown] = (await other_client.get("/api/v1/outbound")).json()["items"]
    assert shown["id"] == str(theirs)
