"""The effects API: agents in any language ask, do, and report; two accounts never meet."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from httpx2 import AsyncClient, Response

from onevoice.flow.runtime import Runtime
from onevoice.settings import Settings
from onevoice.testing import RecordingChannel
from onevoice.vocabulary import AccountId
from tests.builders import Rows, new_id

SECRET = "agent-secret"
FRIDAY: dict[str, object] = {"tool": "book", "args": {"day": "sexta"}}


@pytest.fixture
def runtime(runtime: Runtime, own_account: AccountId, other_account: AccountId) -> Runtime:
    """With a secret for the agent, and a channel in each account."""
    channels = [
        RecordingChannel("loja", account=own_account),
        RecordingChannel("outra", account=other_account),
    ]
    return replace(
        runtime,
        settings=Settings.model_validate({"agent": {"secret": SECRET}}),
        channels={channel.name: channel for channel in channels},
    )


@pytest.fixture
async def agent(live_url: str) -> AsyncIterator[AsyncClient]:
    """The agent's own process: no token, over real HTTP."""
    async with AsyncClient(base_url=live_url) as client:
        yield client


async def running_turn(rows: Rows, **columns: object) -> tuple[UUID, UUID]:
    """A conversation with a turn that reads one message."""
    conversation = await rows.conversation(arrival_count=1, **columns)
    message = await rows.inbound(conversation, state="claimed", turn_id=(turn := new_id()))
    await rows.turn(conversation, [message], state="running", id=turn)
    await rows.connection.execute(
        "update conversation set running_turn_id = $1 where id = $2", turn, conversation
    )
    return conversation, turn


async def signed(agent: AsyncClient, path: str, body: object, *, secret: str = SECRET) -> Response:
    """A call as an HTTP agent makes it."""
    raw = json.dumps(body).encode()
    digest = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Onevoice-Signature": f"sha256={digest}"}
    return await agent.post(f"/api/v1{path}", content=raw, headers=headers)


async def test_an_agent_asks_does_and_reports(agent: AsyncClient, own: Rows) -> None:
    """201 do it; report; 200 it is done already, with the result."""
    _, turn = await running_turn(own)
    first = await signed(agent, f"/turns/{turn}/effects", FRIDAY)
    started = first.json()
    reports = [
        await signed(agent, f"/effects/{started['effect']}", {"state": "done", "result": {"at": "9h"}})
        for _ in range(2)
    ]
    again = await signed(agent, f"/turns/{turn}/effects", {**FRIDAY, "retry_safe": True})

    assert first.status_code == 201
    assert started == {
        "effect": started["effect"],
        "key": started["key"],
        "state": "started",
        "not_after_seconds": 30,
    }
    assert [report.status_code for report in reports] == [200, 200]
    assert reports[0].json() == {"effect": started["effect"], "state": "done"}
    assert again.status_code == 200
    assert again.json() == {
        "effect": started["effect"],
        "key": started["key"],
        "state": "done",
        "result": {"at": "9h"},
    }


async def test_an_occurrence_makes_a_call_of_its_own(client: AsyncClient, own: Rows) -> None:
    """Intended equal calls are two effects."""
    _, turn = await running_turn(own)
    answers = [
        await client.post(f"/api/v1/turns/{turn}/effects", json={**FRIDAY, "occurrence": occurrence})
        for occurrence in (None, "2")
    ]

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["key"] != answers[1].json()["key"]


async def test_twenty_equal_calls_at_once_start_one(client: AsyncClient, own: Rows) -> None:
    """One is told to do it, nineteen not to."""
    _, turn = await running_turn(own)
    answers = await asyncio.gather(
        *(client.post(f"/api/v1/turns/{turn}/effects", json=FRIDAY) for _ in range(20))
    )

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 19
    assert {answer.json().get("error") for answer in answers} == {None, "outcome_unknown"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("update conversation set authority_version = 2", "authority_revoked"),
        ("update conversation set authority_state = 'HUMAN_ACTIVE'", "authority_revoked"),
        (
            "update turn set state = 'obsolete', reason = 'authority_revoked', ended_at = now()",
            "authority_revoked",
        ),
        ("update turn set state = 'sealed', reason = 'answered', ended_at = now()", "turn_over"),
        ("update conversation set arrival_count = 2", "newer_message"),
    ],
)
async def test_a_stale_write_is_refused(client: AsyncClient, own: Rows, change: str, error: str) -> None:
    """409 with the reason; nothing has begun."""
    _, turn = await running_turn(own)
    await own.connection.execute(change)
    answer = await client.post(f"/api/v1/turns/{turn}/effects", json=FRIDAY)

    assert answer.status_code == 409
    assert answer.json()["error"] == error
    assert "do not do it" in answer.json()["message"]
    assert await own.connection.fetchval("select count(*) from effect where state <> 'refused'") == 0


async def test_two_outcomes_are_a_conflict(client: AsyncClient, own: Rows) -> None:
    """What is recorded stays."""
    conversation = await own.conversation()
    effect = await own.effect(conversation, state="done")
    answer = await client.post(f"/api/v1/effects/{effect}", json={"state": "failed"})

    assert answer.status_code == 409
    assert answer.json()["error"] == "already_settled"
    assert await own.connection.fetchval("select state from effect") == "done"


async def test_automation_writes_under_the_version_it_read(client: AsyncClient, own: Rows) -> None:
    """201 and its report; 409 once the authority has moved."""
    conversation = await own.conversation(authority_version=4)
    path = f"/api/v1/conversations/{conversation}/effects"
    first = await client.post(path, json={**FRIDAY, "authority_version": 4})
    report = await client.post(f"/api/v1/effects/{first.json()['effect']}", json={"state": "done"})
    late = await client.post(path, json={**FRIDAY, "authority_version": 3})

    assert (first.status_code, report.status_code) == (201, 200)
    assert late.status_code == 409
    assert late.json()["error"] == "authority_revoked"


async def test_a_finished_write_confirms_a_takeover(client: AsyncClient, own: Rows) -> None:
    """The last one in flight."""
    bia = await own.operator("bia")
    conversation = await own.conversation(
        authority_state="HANDOFF_PENDING", authority_owner=bia, authority_reason="manual"
    )
    turn = await own.turn(conversation, [new_id()], state="obsolete", reason="authority_revoked")
    effect = await own.effect(conversation, state="started", turn_id=turn)
    await client.post(f"/api/v1/effects/{effect}", json={"state": "failed", "result": "the diary was away"})

    row = await own.connection.fetchrow("select authority_state, authority_version from conversation")
    assert tuple(row or ()) == ("HUMAN_ACTIVE", 2)


async def test_an_operator_approves_or_refuses(as_ana: AsyncClient, own: Rows) -> None:
    """Any operator may, with the version on the screen or without."""
    conversation, turn = await running_turn(own)
    first = await own.effect(conversation, state="awaiting", turn_id=turn, tool="refund")
    second = await own.effect(conversation, state="awaiting", turn_id=turn, tool="refund")
    approved = await as_ana.post(f"/api/v1/effects/{first}/approve", json={"authority_version": 1})
    stale = await as_ana.post(f"/api/v1/effects/{second}/approve", json={"authority_version": 9})
    refused = await as_ana.post(f"/api/v1/effects/{second}/refuse")
    late = await as_ana.post(f"/api/v1/effects/{second}/approve")

    assert approved.json() == {"effect": str(first), "state": "started"}
    assert (stale.status_code, stale.json()["error"]) == (409, "authority_revoked")
    assert refused.json() == {"effect": str(second), "state": "refused"}
    assert (late.status_code, late.json()["error"]) == (409, "already_settled")


async def test_another_account_finds_nothing(
    client: AsyncClient, other_client: AsyncClient, own: Rows
) -> None:
    """Turns, conversations and effects of others are as if they were not there."""
    conversation, turn = await running_turn(own)
    effect = await own.effect(conversation, state="awaiting", turn_id=turn)
    calls: list[tuple[str, dict[str, Any]]] = [
        (f"/turns/{turn}/effects", FRIDAY),
        (f"/conversations/{conversation}/effects", {**FRIDAY, "authority_version": 1}),
        (f"/effects/{effect}", {"state": "done"}),
        (f"/effects/{effect}/approve", {}),
        (f"/effects/{effect}/refuse", {}),
    ]
    answers = [await other_client.post(f"/api/v1{path}", json=body) for path, body in calls]
    absent = [
        await client.post(f"/api/v1{path.replace(path.split('/')[2], str(new_id()))}", json=body)
        for path, body in calls
    ]

    assert [answer.status_code for answer in answers + absent] == [404] * 10
    assert {answer.text for answer in answers} == {answer.text for answer in absent}
    assert await own.connection.fetchval("select state from effect") == "awaiting"


async def test_the_agents_signature_serves_every_account_of_this_server(
    agent: AsyncClient, own: Rows, other: Rows
) -> None:
    """One agent, many tenants: the turn says whose it is."""
    for rows in (own, other):
        _, turn = await running_turn(rows)
        assert (await signed(agent, f"/turns/{turn}/effects", FRIDAY)).status_code == 201
    assert (await signed(agent, f"/turns/{new_id()}/effects", FRIDAY)).status_code == 404


async def test_without_token_or_signature_nothing_begins(
    agent: AsyncClient, as_ana: AsyncClient, own: Rows
) -> None:
    """No proof 401, a forged or foreign one 401, too small a role 403."""
    _, turn = await running_turn(own)
    path = f"/turns/{turn}/effects"
    url = f"/api/v1{path}"
    forged = await signed(agent, path, FRIDAY, secret="another")
    other_body = await agent.post(
        url,
        json={**FRIDAY, "tool": "cancel"},
        headers={"X-Onevoice-Signature": forged.request.headers["X-Onevoice-Signature"]},
    )
    odd = await agent.post(url, json=FRIDAY, headers={"X-Onevoice-Signature": "sha256=é".encode()})
    bare = await agent.post(url, json=FRIDAY)
    unknown = await agent.post(url, json=FRIDAY, headers={"Authorization": "Bearer nobody"})
    operator = await as_ana.post(url, json=FRIDAY)

    assert [answer.status_code for answer in (forged, other_body, odd, bare, unknown)] == [401] * 5
    assert forged.json()["error"] == "signature_invalid"
    assert (operator.status_code, operator.json()["error"]) == (403, "role_too_small")
    assert await own.connection.fetchval("select count(*) from effect") == 0


class TestWithoutSecret:
    """A server whose agent has no secret."""

    @pytest.fixture
    def runtime(self, runtime: Runtime) -> Runtime:
        return replace(runtime, settings=Settings())

    async def test_a_signature_proves_nothing(self, agent: AsyncClient, own: Rows) -> None:
        """An empty secret is nobody's."""
        _, turn = await running_turn(own)
        answer = await signed(agent, f"/turns/{turn}/effects", FRIDAY, secret="")

        assert answer.status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {"args": {}},
        {"tool": "", "args": {}},
        {"tool": "x" * 201},
        {"tool": "book", "args": ["sexta"]},
        {"tool": "book", "args": {"day": "\x00"}},
        {"tool": "book", "retry_safe": "perhaps"},
        {"tool": "book", "occurrence": "\x00"},
        {"tool": "book", "retrySafe": True},
        {"tool": "book", "args": {"day": "x" * 70_000}},
    ],
)
async def test_a_call_that_cannot_be_kept_is_refused(
    client: AsyncClient, own: Rows, body: dict[str, object]
) -> None:
    """422 with the reason; nothing has begun."""
    _, turn = await running_turn(own)
    answer = await client.post(f"/api/v1/turns/{turn}/effects", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"] == "invalid_request"
    assert await own.connection.fetchval("select count(*) from effect") == 0


async def test_a_number_that_is_none_is_refused(client: AsyncClient, own: Rows) -> None:
    """JSON has no NaN."""
    _, turn = await running_turn(own)
    answer = await client.post(
        f"/api/v1/turns/{turn}/effects",
        content=b'{"tool": "book", "args": {"price": NaN}}',
        headers={"Content-Type": "application/json"},
    )

    assert answer.status_code == 422
