"""GET /conversations and GET /conversations/{id}."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import AsyncClient

from tests.builders import Rows, new_id

OPERATOR = str(new_id())


async def ids(client: AsyncClient, **query: str | int) -> list[str]:
    answer = await client.get("/api/v1/conversations", params=query)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def walk(client: AsyncClient, path: str, *, limit: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = None
    for _ in range(20):
        query = {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        page = (await client.get(path, params=query)).json()
        assert len(page["items"]) <= limit
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items
    raise AssertionError("the walk does not end")


async def test_an_item_has_the_published_shape(client: AsyncClient, own: Rows) -> None:
    """A conversation shows contact, authority and what is unanswered, under the contract's keys."""
    turn, bia = new_id(), await own.operator("Bia")
    conversation = await own.conversation(
        active=60,
        authority_state="HUMAN_ACTIVE",
        authority_version=3,
        authority_owner=bia,
        authority_reason="manual",
        authority_note="quer falar do contrato",
        running_turn_id=turn,
    )
    await own.inbound(conversation, received=1, state="answered")
    await own.inbound(conversation, received=5, state="claimed", turn_id=turn)
    await own.inbound(conversation, received=4, state="withdrawn", turn_id=turn)
    await own.inbound(conversation, received=8, state="open")

    answer = await client.get(f"/api/v1/conversations/{conversation}")

    assert answer.status_code == 200
    assert answer.json() == {
        "id": str(conversation),
        "channel": "loja",
        "contact": {"id": "5511999990000", "name": "Ana"},
        "authority": {
            "state": "HUMAN_ACTIVE",
            "version": 3,
            "owner": {"id": str(bia), "name": "Bia"},
            "reason": "manual",
            "note": "quer falar do contrato",
            "since": "2026-11-30T12:00:00Z",
        },
        "unanswered_count": 2,
        "oldest_unanswered_at": "2026-11-30T12:00:05Z",
        "last_activity_at": "2026-11-30T12:01:00Z",
    }
    assert (await client.get("/api/v1/conversations")).json() == {
        "items": [answer.json()],
        "next_cursor": None,
    }


async def test_a_conversation_without_messages_has_nothing_unanswered(client: AsyncClient, own: Rows) -> None:
    """Without open messages the count is 0, the instant null, and an AI has no owner."""
    conversation = await own.conversation(name=None)

    shown = (await client.get(f"/api/v1/conversations/{conversation}")).json()

    assert (shown["unanswered_count"], shown["oldest_unanswered_at"]) == (0, None)
    assert shown["contact"]["name"] is None
    assert shown["authority"]["owner"] is None


async def test_an_owner_without_a_name_is_shown_by_id(client: AsyncClient, own: Rows, other: Rows) -> None:
    """An operator of another account lends no name to an equal id; the owner stays visible."""
    theirs = await other.operator("Bia")
    conversation = await own.conversation(authority_state="HUMAN_ACTIVE", authority_owner=theirs)

    shown = (await client.get(f"/api/v1/conversations/{conversation}")).json()

    assert shown["authority"]["owner"] == {"id": str(theirs), "name": None}


async def test_newest_activity_comes_first(client: AsyncClient, own: Rows) -> None:
    """The list is in order of activity, whatever the order of creation."""
    middle, oldest, newest = [await own.conversation(active=seconds) for seconds in (20, 10, 30)]

    assert await ids(client) == [str(newest), str(middle), str(oldest)]


async def test_pages_cover_equal_instants_once(client: AsyncClient, own: Rows) -> None:
    """Conversations of the same instant are told apart by id: no page skips or repeats one."""
    made = {str(await own.conversation(active=index // 4)) for index in range(11)}

    shown = [item["id"] for item in await walk(client, "/api/v1/conversations", limit=3)]

    assert len(shown) == 11
    assert set(shown) == made


async def test_conversations_that_begin_during_a_walk_disturb_nothing(client: AsyncClient, own: Rows) -> None:
    """A new conversation between two pages neither repeats nor hides an older one."""
    made = [str(await own.conversation(active=10 - index)) for index in range(4)]
    first = (await client.get("/api/v1/conversations", params={"limit": 2})).json()
    await own.conversation(active=99)
    second = (
        await client.get("/api/v1/conversations", params={"limit": 2, "cursor": first["next_cursor"]})
    ).json()

    assert [item["id"] for item in first["items"] + second["items"]] == made
    assert second["next_cursor"] is None


async def test_a_full_last_page_ends_the_walk(client: AsyncClient, own: Rows) -> None:
    """When the page holds exactly what is left there is no cursor to an empty page."""
    for index in range(2):
        await own.conversation(active=index)

    assert (await client.get("/api/v1/conversations?limit=2")).json()["next_cursor"] is None


async def test_a_page_has_at_most_200_items(client: AsyncClient, own: Rows) -> None:
    """A larger limit gives 200, and a cursor to the rest."""
    for index in range(201):
        await own.conversation(active=index)

    page = (await client.get("/api/v1/conversations?limit=5000")).json()

    assert len(page["items"]) == 200
    assert page["next_cursor"] is not None


@pytest.mark.parametrize("state", ["AI_ACTIVE", "HANDOFF_PENDING", "HUMAN_ACTIVE", "AI_SUSPENDED"])
async def test_state_filters(client: AsyncClient, own: Rows, state: str) -> None:
    """Each state lists exactly its conversations, newest first."""
    expected: list[str] = []
    for index, each in enumerate(["AI_ACTIVE", "HANDOFF_PENDING", "HUMAN_ACTIVE", "AI_SUSPENDED"] * 2):
        made = await own.conversation(active=-index, authority_state=each)
        expected += [str(made)] if each == state else []

    assert await ids(client, state=state) == expected
    assert await ids(client, state=state, limit=1) == expected[:1]


async def test_channel_filters_alone_and_together(client: AsyncClient, own: Rows) -> None:
    """The channel narrows every other filter."""
    shop = await own.conversation(channel="loja", authority_state="AI_SUSPENDED")
    site = await own.conversation(channel="site", authority_state="AI_SUSPENDED")

    assert await ids(client, channel="loja") == [str(shop)]
    assert await ids(client, channel="site", state="AI_SUSPENDED") == [str(site)]
    assert await ids(client, channel="nowhere") == []


async def test_owner_filters_alone_and_with_a_state(client: AsyncClient, own: Rows) -> None:
    """An operator's conversations are found in every state that has an owner."""
    mine = await own.conversation(active=3, authority_state="HUMAN_ACTIVE", authority_owner=OPERATOR)
    pending = await own.conversation(active=2, authority_state="HANDOFF_PENDING", authority_owner=OPERATOR)
    await own.conversation(active=1, authority_state="HUMAN_ACTIVE", authority_owner=new_id())
    await own.conversation(active=0)

    assert await ids(client, owner=OPERATOR) == [str(mine), str(pending)]
    assert await ids(client, owner=OPERATOR, state="HANDOFF_PENDING") == [str(pending)]
    assert await ids(client, owner=OPERATOR, state="AI_ACTIVE") == []
    assert await ids(client, owner=OPERATOR, channel="site") == []


@pytest.mark.parametrize(
    "typed",
    [
        "5511999990000",
        "+5511999990000",
        "+55 11 99999-0000",
        "551199990000",
        "BR.1A2b3C4d5E6f7G8h9I0j",
        " BR.1A2b3C4d5E6f7G8h9I0j ",
    ],
)
async def test_contact_matches_any_alias(client: AsyncClient, own: Rows, typed: str) -> None:
    """The number in any form and the business-scoped id lead to the same conversation."""
    conversation = await own.conversation(aliases=("tel:5511999990000", "BR.1A2b3C4d5E6f7G8h9I0j"))
    await own.conversation(address="5521", aliases=("tel:5521",))

    assert await ids(client, contact=typed) == [str(conversation)]


async def test_contact_is_looked_for_on_every_channel(client: AsyncClient, own: Rows) -> None:
    """One customer's conversations on several channels are all found, and the other filters narrow them."""
    on = {
        channel: await own.conversation(
            active=index, channel=channel, aliases=("tel:5511999990000", "5511999990000")
        )
        for index, channel in enumerate(["a", "loja", "z"])
    }

    assert await ids(client, contact="5511999990000") == [str(on["z"]), str(on["loja"]), str(on["a"])]
    assert await ids(client, contact="5511999990000", channel="loja") == [str(on["loja"])]
    assert await ids(client, contact="5511999990000", state="AI_SUSPENDED") == []
    assert await ids(client, contact="5511999990000", owner=OPERATOR) == []
    assert await ids(client, contact="nobody") == []


async def test_a_merged_conversation_is_not_listed(client: AsyncClient, own: Rows) -> None:
    """What was merged into another conversation is no line of its own."""
    kept = await own.conversation()
    await own.conversation(merged_into=kept, authority_state="AI_SUSPENDED")

    assert await ids(client) == [str(kept)]
    assert await ids(client, state="AI_SUSPENDED") == []


async def test_another_accounts_conversations_are_invisible(
    client: AsyncClient, other_client: AsyncClient, own: Rows, other: Rows
) -> None:
    """Neither list, nor filters, nor the address itself show what belongs to another account."""
    await own.conversation(aliases=("tel:551",))
    theirs = await other.conversation(
        aliases=("tel:552",), authority_state="HUMAN_ACTIVE", authority_owner=OPERATOR
    )

    assert str(theirs) not in await ids(client)
    assert await ids(client, contact="552") == []
    assert await ids(client, owner=OPERATOR) == []
    assert await ids(client, state="HUMAN_ACTIVE") == []
    assert (await client.get(f"/api/v1/conversations/{theirs}")).status_code == 404
    assert await ids(other_client) == [str(theirs)]


async def test_an_unknown_conversation_is_not_found(client: AsyncClient) -> None:
    """An id that names nothing answers 404 with the error form."""
    answer = await client.get(f"/api/v1/conversations/{new_id()}")

    assert answer.status_code == 404
    assert answer.json()["error"] == "conversation_unknown"
