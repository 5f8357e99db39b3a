"""What operators say: messages, suggestions, notes, follow-ups."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from httpx2 import AsyncClient, Response

from onevoice.entrypoints.operators import Principal
from tests.builders import Rows, at, new_id
from tests.http.test_authority import conflict, done, named
from tests.http.test_errors import refusal


@pytest.fixture
async def mine(as_ana: AsyncClient, own: Rows) -> UUID:
    """A conversation that Ana holds."""
    conversation = await own.conversation()
    await done(as_ana, conversation, "take")
    return conversation


async def say(client: AsyncClient, conversation: UUID, body: object, *, key: str | None = "k1") -> Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await client.post(f"/api/v1/conversations/{conversation}/messages", json=body, headers=headers)


async def suggestion(own: Rows, conversation: UUID, text: str, **columns: object) -> UUID:
    suggestion_id = new_id()
    row: dict[str, object] = {
        "account_id": own.account,
        "id": suggestion_id,
        "conversation_id": conversation,
        "text": text,
        "authority_version": 2,
        "arrivals_seen": 0,
        "created_at": at(0),
    }
    await own.insert("suggestion", row | columns)
    return suggestion_id


async def test_a_message_is_sealed_as_the_operators(
    as_ana: AsyncClient, own: Rows, mine: UUID, ana: Principal
) -> None:
    """201 with the message: author, operator, version and a state on its way; the timeline shows the same."""
    answer = await say(as_ana, mine, {"text": "Oi, aqui é a Ana."})

    assert answer.status_code == 201
    body = answer.json()
    message = body["outbound"]
    assert (body["id"], body["parts"]) == (message["id"], [message["id"]])
    assert (message["author"], message["operator"]) == ("operator", str(ana.operator_id))
    assert (message["text"], message["state"], message["authority_version"]) == (
        "Oi, aqui é a Ana.",
        "due",
        2,
    )
    assert message["conversation"] == str(mine)
    timeline = (await as_ana.get(f"/api/v1/conversations/{mine}/timeline")).json()["items"]
    assert [item["id"] for item in timeline if item["kind"] == "outbound"] == [body["id"]]


async def test_the_same_key_and_text_is_the_same_message(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """200 and the same ids, also after the conversation went to somebody else; nothing is sent twice."""
    first = await say(as_ana, mine, {"text": "Oi"})
    second = await say(as_ana, mine, {"text": "Oi"})
    await done(as_ana, mine, "release")
    third = await say(as_ana, mine, {"text": "Oi"})

    assert [answer.status_code for answer in (first, second, third)] == [201, 200, 200]
    assert first.json() == second.json()
    assert first.json()["parts"] == third.json()["parts"]
    assert await own.connection.fetchval("select count(*) from outbound_message") == 1


async def test_ten_repeats_at_once_are_one_message(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """However many calls arrive together, one of them is new."""
    answers = await asyncio.gather(*(say(as_ana, mine, {"text": "Oi"}) for _ in range(10)))

    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_the_same_key_with_another_text_is_refused(as_ana: AsyncClient, mine: UUID) -> None:
    """A key names one message of a conversation."""
    await say(as_ana, mine, {"text": "Oi"})

    conflict(await say(as_ana, mine, {"text": "Tchau"}), "key_reused", None)


async def test_keys_are_per_conversation_and_whole(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """The same key elsewhere is another message, and so is a key that begins like it."""
    elsewhere = await own.conversation()
    await done(as_ana, elsewhere, "take")

    answers = [
        await say(as_ana, mine, {"text": "Oi"}, key="a:b"),
        await say(as_ana, mine, {"text": "Tchau"}, key="a"),
        await say(as_ana, elsewhere, {"text": "Olá"}, key="a"),
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 201], [a.text for a in answers]


@pytest.mark.parametrize("key", [None, "", "   "])
async def test_a_message_needs_a_key(as_ana: AsyncClient, mine: UUID, key: str | None) -> None:
    """Without it a repeated call would be a second message."""
    refusal(await say(as_ana, mine, {"text": "Oi"}, key=key), 400, "idempotency_key_missing")


async def test_a_key_has_a_length(as_ana: AsyncClient, mine: UUID) -> None:
    """200 characters are enough for anybody's ids."""
    assert (await say(as_ana, mine, {"text": "Oi"}, key="k" * 200)).status_code == 201
    refusal(await say(as_ana, mine, {"text": "Oi"}, key="k" * 201), 400, "idempotency_key_too_long")


async def test_only_the_owner_writes(
    client: AsyncClient, as_rui: AsyncClient, own: Rows, mine: UUID, ana: Principal
) -> None:
    """Neither another operator nor an admin answers in what Ana holds, nobody in what the AI holds."""
    with_ai = await own.conversation()

    conflict(await say(as_rui, mine, {"text": "Oi"}), "not_owner", ana)
    conflict(await say(client, mine, {"text": "Oi"}), "not_owner", ana)
    conflict(await say(client, with_ai, {"text": "Oi"}), "not_owner", None)


async def test_the_named_owner_writes_before_the_confirmation(as_ana: AsyncClient, own: Rows) -> None:
    """While the takeover waits the message is kept, held back until it is confirmed."""
    conversation = await own.conversation()
    turn = await own.turn(conversation, [await own.inbound(conversation, state="answered")])
    await own.outbound(conversation, author="ai", state="sending", turn_id=turn, attempt_count=1)
    await done(as_ana, conversation, "take")

    answer = await say(as_ana, conversation, {"text": "Oi"})

    assert answer.status_code == 201
    message = answer.json()["outbound"]
    assert (message["state"], message["reason"]) == ("held", "takeover_pending")


async def test_a_message_answers_what_was_seen(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """Messages after `seen` stay open, by our id and by the channel's; without it all are answered."""
    first = await own.inbound(mine)
    second = await own.inbound(mine, external_id="wamid.second")
    await own.inbound(mine)

    async def unanswered() -> int:
        return (await as_ana.get(f"/api/v1/conversations/{mine}")).json()["unanswered_count"]

    counts = [await unanswered()]
    for key, seen in (("1", str(first)), ("2", "wamid.second"), ("3", None)):
        assert (await say(as_ana, mine, {"text": "Oi", "seen": seen}, key=key)).status_code == 201
        counts.append(await unanswered())

    assert second
    assert counts == [3, 2, 1, 0]
    refusal(await say(as_ana, mine, {"text": "Oi", "seen": str(new_id())}, key="4"), 422, "seen_unknown")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"text": ""}, "text"),
        ({"text": " \n "}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": 5}, "text"),
        ({"txt": "Oi"}, "txt"),
        ({"suggestion": "first"}, "suggestion"),
        ({"text": "Oi", "seen": ""}, "seen"),
    ],
)
async def test_a_wrong_message_is_refused(
    as_ana: AsyncClient, own: Rows, mine: UUID, body: dict[str, Any], field: str
) -> None:
    """What cannot be said is named, and nothing is sent."""
    assert field in refusal(await say(as_ana, mine, body), 422, "invalid_request")
    assert await own.connection.fetchval("select count(*) from outbound_message") == 0


@pytest.mark.parametrize(
    "content",
    [b'{"text": "\\ud800"}', b'{"text": ' + b"[" * 100_000, b"\xff", b'{"text": "' + b"x" * 300_000 + b'"}'],
)
async def test_no_body_makes_the_server_fail(as_ana: AsyncClient, mine: UUID, content: bytes) -> None:
    """Half characters, deep nesting, no UTF-8, too much: each is refused."""
    answer = await as_ana.post(
        f"/api/v1/conversations/{mine}/messages",
        content=content,
        headers={"Idempotency-Key": "k", "Content-Type": "application/json"},
    )

    assert answer.status_code in {400, 413, 422}, answer.text
    assert answer.json()["error"] in {"invalid_request", "too_large"}


async def test_a_long_text_has_parts(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """What the channel cannot carry in one message leaves in several, in order; a repeat names them all."""
    text = " ".join(f"palavra{number}" for number in range(1500))

    first = await say(as_ana, mine, {"text": text})
    second = await say(as_ana, mine, {"text": text})

    assert (first.status_code, second.status_code) == (201, 200)
    assert len(first.json()["parts"]) == first.json()["outbound"]["part_count"] > 1
    assert first.json()["parts"] == second.json()["parts"]


async def test_suggestions_that_hold_are_listed(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """Those made before the authority moved or before the customer wrote again are gone."""
    made = await suggestion(own, mine, "Posso marcar sexta?", reason="low_confidence", turn_id=new_id())
    await suggestion(own, mine, "velha", authority_version=1)
    await suggestion(own, mine, "adiantada", arrivals_seen=7)
    await suggestion(own, mine, "usada", state="used")

    page = (await as_ana.get(f"/api/v1/conversations/{mine}/suggestions")).json()

    assert page["next_cursor"] is None
    [shown] = page["items"]
    assert (shown["id"], shown["text"], shown["reason"]) == (
        str(made),
        "Posso marcar sexta?",
        "low_confidence",
    )
    assert set(shown) == {"id", "at", "text", "reason", "turn"}


async def test_a_suggestion_is_sent_as_it_is_or_edited(as_ana: AsyncClient, own: Rows, mine: UUID) -> None:
    """Its words become the operator's message; repeating the call is the same message."""
    used = await suggestion(own, mine, "Posso marcar sexta?")
    edited = await suggestion(own, mine, "Posso marcar sábado?")

    first = await say(as_ana, mine, {"suggestion": str(used)}, key="1")
    again = await say(as_ana, mine, {"suggestion": str(used)}, key="1")
    second = await say(as_ana, mine, {"suggestion": str(edited), "text": "Sábado?"}, key="2")

    assert first.json()["outbound"]["text"] == "Posso marcar sexta?"
    assert second.json()["outbound"]["text"] == "Sábado?"
    assert [answer.status_code for answer in (first, again, second)] == [201, 200, 201], again.text
    states = await own.connection.fetch("select state from suggestion order by text")
    assert [row["state"] for row in states] == ["used", "edited"]


async def test_a_suggestion_of_another_conversation_is_unknown(
    as_ana: AsyncClient, own: Rows, mine: UUID
) -> None:
    """An id from elsewhere sends nothing."""
    theirs = await suggestion(own, await own.conversation(), "Olá")

    conflict(await say(as_ana, mine, {"suggestion": str(theirs)}), "suggestion_unknown", None)


async def test_notes_are_kept_and_listed_newest_first(
    as_ana: AsyncClient, as_rui: AsyncClient, own: Rows, ana: Principal, rui: Principal, clock: Any
) -> None:
    """Whoever sees the conversation may leave one; pages walk them all."""
    conversation = await own.conversation()
    address = f"/api/v1/conversations/{conversation}/notes"
    first = await as_ana.post(address, json={"text": "Cliente antigo"})
    await clock.advance(1)
    await as_rui.post(address, json={"text": "Prefere manhã"})

    newest = (await as_ana.get(address, params={"limit": 1})).json()
    oldest = (await as_ana.get(address, params={"limit": 1, "cursor": newest["next_cursor"]})).json()

    assert first.status_code == 201
    note = first.json()["note"]
    assert (note["text"], note["operator"]) == ("Cliente antigo", named(ana))
    assert [item["operator"] for item in newest["items"]] == [named(rui)]
    assert oldest == {"items": [note], "next_cursor": None}
    refusal(await as_ana.post(address, json={"text": "  "}), 422, "invalid_request")


async def test_a_follow_up_is_scheduled(
    as_ana: AsyncClient, as_rui: AsyncClient, mine: UUID, ana: Principal
) -> None:
    """201 with what was scheduled; only the owner may, and only for a time that says its offset."""
    address = f"/api/v1/conversations/{mine}/follow_ups"
    body = {"text": "Deu certo?", "not_before": "2026-12-01T09:00:00-03:00"}

    answer = await as_ana.post(address, json=body)

    assert answer.status_code == 201
    shown = answer.json()["follow_up"]
    assert (shown["text"], shown["state"], shown["reason"]) == ("Deu certo?", "scheduled", None)
    assert (shown["not_before"], shown["operator"]) == ("2026-12-01T12:00:00Z", named(ana))
    conflict(await as_rui.post(address, json=body), "not_owner", ana)
    for wrong in ("2026-12-01T09:00:00", "tomorrow", None):
        refused = await as_ana.post(address, json={**body, "not_before": wrong})
        assert "not_before" in refusal(refused, 422, "invalid_request")
