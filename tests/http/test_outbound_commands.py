"""Releasing, discarding and adopting messages that wait for a human; channels and operators."""

from __future__ import annotations

from uuid import UUID

import pytest
from httpx2 import AsyncClient

from onevoice.entrypoints.operators import Principal
from tests.builders import Rows, at, new_id
from tests.http.test_authority import conflict, done
from tests.http.test_errors import refusal


async def test_a_parked_message_is_released(as_ana: AsyncClient, own: Rows) -> None:
    """It goes back into its lane under the same id and key."""
    conversation = await own.conversation()
    parked = await own.outbound(conversation, state="parked", reason="triage_undecided", key="k")

    answer = await as_ana.post(f"/api/v1/outbound/{parked}/release")

    assert answer.status_code == 200, answer.text
    message = answer.json()["outbound"]
    assert (message["id"], message["key"], message["state"]) == (str(parked), "k", "due")
    assert (await as_ana.get("/api/v1/outbound")).json()["items"] == []
    conflict(await as_ana.post(f"/api/v1/outbound/{parked}/release"), "invalid_transition", None)


@pytest.mark.parametrize("state", ["parked", "uncertain"])
async def test_a_message_is_discarded(as_ana: AsyncClient, own: Rows, state: str) -> None:
    """It ends for good, with its reason, and cannot be released afterwards."""
    waiting = await own.outbound(await own.conversation(), state=state)

    answer = await as_ana.post(f"/api/v1/outbound/{waiting}/discard")

    assert answer.status_code == 200, answer.text
    assert answer.json()["outbound"]["state"] == "cancelled"
    assert answer.json()["outbound"]["reason"]
    conflict(await as_ana.post(f"/api/v1/outbound/{waiting}/release"), "invalid_transition", None)


async def test_what_another_holds_is_theirs_to_act_in(
    client: AsyncClient, as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal
) -> None:
    """Another operator neither releases nor discards there; an admin may."""
    conversation = await own.conversation()
    await done(as_ana, conversation, "take")
    first, second = [await own.outbound(conversation, state="parked", author="operator") for _ in range(2)]

    for command in ("release", "discard"):
        conflict(await as_rui.post(f"/api/v1/outbound/{first}/{command}"), "not_owner", ana)
    assert (await as_ana.post(f"/api/v1/outbound/{first}/discard")).status_code == 200
    assert (await client.post(f"/api/v1/outbound/{second}/release")).status_code == 200


@pytest.mark.parametrize("author", ["ai", "system"])
async def test_a_parked_reply_is_not_released_over_a_human(
    as_ana: AsyncClient, own: Rows, author: str
) -> None:
    """Nor by the human who has the conversation: they say it as their own (I1)."""
    conversation = await own.conversation()
    turn = new_id() if author == "ai" else None
    parked = await own.outbound(conversation, state="parked", author=author, turn_id=turn)
    await done(as_ana, conversation, "take")

    conflict(await as_ana.post(f"/api/v1/outbound/{parked}/release"), "invalid_transition", None)
    assert (await as_ana.post(f"/api/v1/outbound/{parked}/send")).status_code == 201


async def test_a_revoked_reply_is_sent_as_ones_own(as_ana: AsyncClient, own: Rows, ana: Principal) -> None:
    """One call without a key is enough, and a repeat sends nothing more; a key of one's own works too."""
    conversation = await own.conversation()
    revoked = await own.outbound(
        conversation, state="revoked", author="ai", turn_id=new_id(), text="Sexta às 9h?"
    )
    address = f"/api/v1/outbound/{revoked}/send"
    conflict(await as_ana.post(address), "not_owner", None)
    await done(as_ana, conversation, "take")

    first, again = await as_ana.post(address), await as_ana.post(address)
    keyed = await as_ana.post(address, headers={"Idempotency-Key": "k"})

    assert [answer.status_code for answer in (first, again, keyed)] == [201, 200, 201]
    message = first.json()["outbound"]
    assert (message["text"], message["author"]) == ("Sexta às 9h?", "operator")
    assert message["operator"] == str(ana.operator_id)
    assert again.json()["id"] == first.json()["id"] != keyed.json()["id"]


async def test_what_was_sent_is_not_sent_again(as_ana: AsyncClient, own: Rows) -> None:
    """A message that is on its way or has arrived is nobody's to adopt."""
    sent = await own.outbound(await own.conversation(), state="sent")

    conflict(await as_ana.post(f"/api/v1/outbound/{sent}/send"), "invalid_transition", None)


@pytest.mark.parametrize("command", ["release", "discard", "send"])
async def test_an_unknown_message_is_not_found(as_ana: AsyncClient, command: str) -> None:
    """The same answer for what never was and for what is somebody else's."""
    refusal(await as_ana.post(f"/api/v1/outbound/{new_id()}/{command}"), 404, "outbound_unknown")


async def test_channels_are_listed_with_what_stops_them(as_ana: AsyncClient, own: Rows) -> None:
    """Name, kind, pause and slow-down; a slow-down that is over is not shown."""
    names = sorted(f"{letter} {new_id()}" for letter in "abc")
    for name in names:
        await own.channel(name)
    await own.connection.execute(
        "update channel set paused_reason = 'token_invalid', paused_at = $2, slow_until = $3 where name = $1",
        names[0], at(-5), at(60),
    )  # fmt: skip
    await own.connection.execute("update channel set slow_until = $2 where name = $1", names[1], at(-1))

    items = (await as_ana.get("/api/v1/channels")).json()["items"]

    assert items[0] == {
        "name": names[0],
        "kind": "whatsapp",
        "paused": {"reason": "token_invalid", "since": "2026-11-30T11:59:55Z"},
        "slow_until": "2026-11-30T12:01:00Z",
    }
    assert [(item["name"], item["paused"], item["slow_until"]) for item in items[1:]] == [
        (names[1], None, None),
        (names[2], None, None),
    ]


async def test_an_admin_lifts_a_pause(
    client: AsyncClient, as_ana: AsyncClient, own: Rows, root: Principal
) -> None:
    """The channel goes on and the journal keeps who did it; twice changes nothing; an operator may not."""
    name = await own.channel(f"loja {new_id()}")
    await own.connection.execute("update channel set paused_reason = 'x', paused_at = now()")
    address = f"/api/v1/channels/{name}/resume"

    refusal(await as_ana.post(address), 403, "role_too_small")
    first, second = await client.post(address), await client.post(address)

    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert first.json()["channel"]["paused"] is None
    [entry] = await own.connection.fetch("select kind, state, data::text from journal")
    assert (entry["kind"], entry["state"]) == ("channel", "resumed")
    assert str(root.operator_id) in entry["data"]
    refusal(await client.post(f"/api/v1/channels/{new_id()}/resume"), 404, "channel_unknown")


async def test_operators_are_listed(as_ana: AsyncClient, own: Rows, ana: Principal) -> None:
    """Id, name and role of those who may be given a conversation; a disabled one is not among them."""
    await own.connection.execute("update operator set disabled_at = now() where name = 'Rui'")

    page = (await as_ana.get("/api/v1/operators")).json()

    assert [(item["name"], item["role"]) for item in page["items"]] == [
        ("Ana Lima", "operator"),
        ("root", "admin"),
    ]
    assert UUID(page["items"][0]["id"]) == ana.operator_id
    assert page["next_cursor"] is None
