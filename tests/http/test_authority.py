"""The commands that change who may speak: answers, refusals, roles and races."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from onevoice.entrypoints.operators import Principal
from tests.builders import Rows, new_id
from tests.http.conftest import Keys, caller, operator
from tests.http.test_errors import refusal

REFUSED = {"error", "message", "owner"}


async def order(client: AsyncClient, conversation: UUID, command: str, body: object = None) -> Response:
    return await client.post(f"/api/v1/conversations/{conversation}/{command}", json=body)


async def done(client: AsyncClient, conversation: UUID, command: str, body: object = None) -> dict[str, Any]:
    answer = await order(client, conversation, command, body)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"authority", "unresolved_count"}
    return answer.json()["authority"]


def named(principal: Principal) -> dict[str, str]:
    return {"id": str(principal.operator_id), "name": principal.name}


def conflict(answer: Response, code: str, holder: Principal | None) -> None:
    refusal(answer, 409, code)
    assert set(answer.json()) == REFUSED
    assert answer.json()["owner"] == (None if holder is None else named(holder))


async def test_a_take_answers_the_new_authority(as_ana: AsyncClient, own: Rows, ana: Principal) -> None:
    """State, version, owner with name, reason, note and since; the conversation shows the same."""
    conversation = await own.conversation()

    taken = await done(as_ana, conversation, "take")
    shown = (await as_ana.get(f"/api/v1/conversations/{conversation}")).json()["authority"]

    assert taken == shown
    assert taken == {
        "state": "HUMAN_ACTIVE",
        "version": 2,
        "owner": named(ana),
        "reason": "manual",
        "note": None,
        "since": "2026-11-30T12:00:00Z",
    }


async def test_a_take_by_the_owner_changes_nothing(as_ana: AsyncClient, own: Rows) -> None:
    """Taking twice is one transition."""
    conversation = await own.conversation()

    first = await done(as_ana, conversation, "take", {})
    second = await done(as_ana, conversation, "take", {"force": True})

    assert first == second


async def test_a_second_operator_is_told_who_holds_it(
    as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal
) -> None:
    """A take of what another holds is a conflict that names the holder."""
    conversation = await own.conversation()
    await done(as_ana, conversation, "take")

    conflict(await order(as_rui, conversation, "take"), "held_by_other", ana)


async def test_only_an_admin_takes_from_a_holder(
    client: AsyncClient, as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal, root: Principal
) -> None:
    """Forcing is explicit: an operator's role is too small for it, an admin's is not."""
    conversation = await own.conversation()
    await done(as_ana, conversation, "take")

    refused = await order(as_rui, conversation, "take", {"force": True})
    refusal(refused, 403, "role_too_small")
    assert refused.json()["owner"] == named(ana)
    conflict(await order(client, conversation, "take"), "held_by_other", ana)
    assert (await done(client, conversation, "take", {"force": True}))["owner"] == named(root)


async def test_forcing_what_nobody_holds_is_a_take(as_ana: AsyncClient, own: Rows, ana: Principal) -> None:
    """There is nobody to force out: an operator may."""
    conversation = await own.conversation()

    assert (await done(as_ana, conversation, "take", {"force": True}))["owner"] == named(ana)


async def test_a_take_waits_for_a_message_on_the_wire_and_its_owner_may_force_it(
    as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal
) -> None:
    """The answer counts what is unresolved; the named owner confirms it early, nobody else does."""
    conversation = await own.conversation()
    turn = await own.turn(conversation, [await own.inbound(conversation, state="answered")])
    await own.outbound(conversation, author="ai", state="sending", turn_id=turn, attempt_count=1)

    waiting = await order(as_ana, conversation, "take")
    refused = await order(as_rui, conversation, "take", {"force": True})
    forced = await order(as_ana, conversation, "take", {"force": True})

    assert waiting.json()["authority"]["state"] == "HANDOFF_PENDING"
    assert waiting.json()["authority"]["owner"] == named(ana)
    assert waiting.json()["unresolved_count"] == 1
    refusal(refused, 403, "role_too_small")
    assert forced.json()["authority"]["state"] == "HUMAN_ACTIVE"
    assert forced.json()["unresolved_count"] == 1


async def test_release_and_what_may_not_be_released(
    client: AsyncClient, as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal
) -> None:
    """The owner or an admin gives it back; another operator is told whose it is; twice is no transition."""
    conversation = await own.conversation()
    conflict(await order(as_ana, conversation, "release"), "invalid_transition", None)
    await done(as_ana, conversation, "take")

    conflict(await order(as_rui, conversation, "release"), "not_owner", ana)
    released = await done(as_ana, conversation, "release")
    await done(as_ana, conversation, "take")
    by_admin = await done(client, conversation, "release")

    assert (released["state"], released["owner"], released["version"]) == ("AI_ACTIVE", None, 3)
    assert (by_admin["state"], by_admin["version"]) == ("AI_ACTIVE", 5)


async def test_transfer(
    client: AsyncClient, as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal, rui: Principal
) -> None:
    """The owner hands it on, an admin too; whom it is handed to must be an operator of the account."""
    conversation = await own.conversation()
    to_rui, to_ana = {"to": str(rui.operator_id)}, {"to": str(ana.operator_id)}
    conflict(await order(as_ana, conversation, "transfer", to_rui), "invalid_transition", None)
    await done(as_ana, conversation, "take")

    conflict(await order(as_rui, conversation, "transfer", to_rui), "not_owner", ana)
    unknown = await order(as_ana, conversation, "transfer", {"to": str(new_id())})
    refusal(unknown, 422, "operator_unknown")
    assert (await done(as_ana, conversation, "transfer", to_rui))["owner"] == named(rui)
    assert (await done(client, conversation, "transfer", to_ana))["owner"] == named(ana)


async def test_nobody_of_another_account_or_disabled_is_given_a_conversation(
    client: AsyncClient, own: Rows, other_root: Principal, ana: Principal
) -> None:
    """The other account's operator is not known here, a disabled one does not answer customers."""
    conversation = await own.conversation()
    await done(client, conversation, "take")
    await own.connection.execute("update operator set disabled_at = now() where id = $1", ana.operator_id)

    for operator_id in (other_root.operator_id, ana.operator_id):
        answer = await order(client, conversation, "transfer", {"to": str(operator_id)})
        refusal(answer, 422, "operator_unknown")


async def test_suspend_and_resume(
    client: AsyncClient, as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal
) -> None:
    """Reason and note are kept; resume ends a suspension only; what another holds an operator does not suspend."""
    conversation = await own.conversation()
    conflict(await order(as_ana, conversation, "resume"), "invalid_transition", None)

    suspended = await done(as_ana, conversation, "suspend", {"reason": "review", "note": "ver o contrato"})
    again = await done(as_ana, conversation, "suspend")
    resumed = await done(as_rui, conversation, "resume")
    await done(as_ana, conversation, "take")
    conflict(await order(as_rui, conversation, "suspend"), "not_owner", ana)
    by_admin = await done(client, conversation, "suspend")

    assert (suspended["state"], suspended["reason"], suspended["note"]) == (
        "AI_SUSPENDED",
        "review",
        "ver o contrato",
    )
    assert again == suspended
    assert (resumed["state"], by_admin["state"]) == ("AI_ACTIVE", "AI_SUSPENDED")


async def test_request_handoff(as_ana: AsyncClient, own: Rows, ana: Principal) -> None:
    """The conversation waits for a human, with reason and note; whoever takes it keeps the reason."""
    conversation = await own.conversation()

    asked = await done(as_ana, conversation, "request_handoff", {"reason": "customer_request", "note": "VIP"})
    again = await done(as_ana, conversation, "request_handoff", {"reason": "other"})
    taken = await done(as_ana, conversation, "take")

    assert (asked["state"], asked["owner"], asked["reason"], asked["note"]) == (
        "HANDOFF_PENDING",
        None,
        "customer_request",
        "VIP",
    )
    assert again == asked
    assert (taken["owner"], taken["reason"]) == (named(ana), "customer_request")


async def test_the_list_finds_an_owner_by_id_and_by_name(
    as_ana: AsyncClient, own: Rows, ana: Principal
) -> None:
    """What a person types is a name; an unknown one has no conversation."""
    conversation = await own.conversation()
    await own.conversation()
    await done(as_ana, conversation, "take")

    for owner in (str(ana.operator_id), ana.name):
        [found] = (await as_ana.get("/api/v1/conversations", params={"owner": owner})).json()["items"]
        assert found["id"] == str(conversation)
    for owner in ("nobody", "ana lima", str(new_id())):
        page = (await as_ana.get("/api/v1/conversations", params={"owner": owner})).json()
        assert page == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("command", "body", "field"),
    [
        ("take", {"forced": True}, "forced"),
        ("take", {"force": "perhaps"}, "force"),
        ("take", [], "body"),
        ("transfer", {}, "to"),
        ("transfer", {"to": "Ana"}, "to"),
        ("suspend", {"reason": ""}, "reason"),
        ("suspend", {"note": "a\x00b"}, "note"),
        ("request_handoff", {"note": "x" * 2001}, "note"),
    ],
)
async def test_a_wrong_body_is_named(
    as_ana: AsyncClient, own: Rows, command: str, body: object, field: str
) -> None:
    """A misspelt key is refused: it must not be a plain take; nothing changes."""
    conversation = await own.conversation()

    answer = await order(as_ana, conversation, command, body)

    assert field in refusal(answer, 422, "invalid_request")
    shown = (await as_ana.get(f"/api/v1/conversations/{conversation}")).json()
    assert shown["authority"]["version"] == 1


async def test_fifty_operators_take_at_once_and_one_has_it(api: FastAPI, own: Rows, keys: Keys) -> None:
    """One 200, 49 conflicts that name the holder, nothing else."""
    conversation = await own.conversation()
    takers = [await operator(own, f"operator {number}") for number in range(50)]
    keys.principals.update({taker.name: taker for taker in takers})

    async def take(taker: Principal) -> Response:
        async with caller(api, taker.name) as client:
            return await order(client, conversation, "take")

    answers = await asyncio.gather(*(take(taker) for taker in takers))

    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 49}
    [won] = [answer.json()["authority"] for answer in answers if answer.status_code == 200]
    assert won["version"] == 2
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["error"] == "held_by_other"
            assert answer.json()["owner"] == won["owner"]
