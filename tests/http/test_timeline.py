"""GET /conversations/{id}/timeline."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from httpx2 import AsyncClient

from onevoice.testing.manual_clock import ManualClock
from tests.builders import Rows, at, new_id

OPERATOR = new_id()


async def page(client: AsyncClient, conversation: UUID, **query: str | int) -> dict[str, Any]:
    answer = await client.get(f"/api/v1/conversations/{conversation}/timeline", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def walk(client: AsyncClient, conversation: UUID, *, limit: int) -> list[dict[str, Any]]:
    shown = await page(client, conversation, limit=limit)
    items = shown["items"]
    for _ in range(20):
        if shown["next_cursor"] is None:
            return items
        shown = await page(client, conversation, limit=limit, cursor=shown["next_cursor"])
        items += shown["items"]
    raise AssertionError("the walk does not end")


async def story(own: Rows) -> tuple[UUID, list[tuple[str, str]]]:
    """A burst, its turn, a triage, a takeover and an operator's answer; with their kinds and ids in order."""
    conversation = await own.conversation()
    first = await own.inbound(conversation, received=0, state="answered")
    second = await own.inbound(conversation, received=1, state="answered")
    turn = await own.turn(conversation, [first, second], started=5)
    effect = await own.effect(conversation, started=5.5, turn_id=turn)
    reply = await own.outbound(conversation, sealed=6, author="ai", turn_id=turn, state="superseded")
    third = await own.inbound(conversation, received=6.5, state="answered")
    triage = await own.journal("triage", conversation, written=7, state="decided")
    transition = await own.journal("authority", conversation, written=8, state="HUMAN_ACTIVE")
    answer = await own.outbound(conversation, sealed=9, author="operator", operator_id=OPERATOR)
    return conversation, [
        ("inbound", str(first)),
        ("inbound", str(second)),
        ("turn", str(turn)),
        ("effect", str(effect)),
        ("outbound", str(reply)),
        ("inbound", str(third)),
        ("triage", str(triage)),
        ("authority", str(transition)),
        ("outbound", str(answer)),
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 9, 200])
async def test_pages_of_any_size_show_the_same_story(client: AsyncClient, own: Rows, limit: int) -> None:
    """All sources are merged by time, oldest first, however the pages are cut."""
    conversation, expected = await story(own)

    shown = await walk(client, conversation, limit=limit)

    assert [(item["kind"], item["id"]) for item in shown] == expected


async def test_other_journal_entries_are_no_items(client: AsyncClient, own: Rows) -> None:
    """The journal's echo of messages and turns is not shown a second time."""
    conversation = await own.conversation()
    for kind in ("inbound", "turn", "outbound", "note", "channel"):
        await own.journal(kind, conversation)

    assert (await page(client, conversation))["items"] == []


async def test_an_inbound_item(client: AsyncClient, own: Rows) -> None:
    """A customer's message has the channel's id, its type, text, transcription and the turn that read it."""
    conversation = await own.conversation()
    turn = new_id()
    message = await own.inbound(
        conversation, received=2, state="answered", turn_id=turn, external_id=f"wamid.A{turn}", type="audio",
        text=None, transcription="pra sexta", sent_at=at(1),
    )  # fmt: skip
    media = await own.media(message, seconds=3.5, transcription_state="done")

    assert (await page(client, conversation))["items"] == [
        {
            "kind": "inbound",
            "id": str(message),
            "at": "2026-11-30T12:00:02Z",
            "state": "answered",
            "reason": "turn_sealed",
            "external_id": f"wamid.A{turn}",
            "type": "audio",
            "text": None,
            "transcription": "pra sexta",
            "transcription_state": "done",
            "transcription_reason": None,
            "media": {
                "id": str(media),
                "kind": "audio",
                "state": "stored",
                "reason": None,
                "mime_type": "audio/ogg",
                "filename": None,
                "size_bytes": 9,
                "seconds": 3.5,
                "url": f"/api/v1/media/{media}",
            },
            "turn": str(turn),
            "sent_at": "2026-11-30T12:00:01Z",
        }
    ]


async def test_a_message_says_what_there_is_of_its_file_and_its_words(client: AsyncClient, own: Rows) -> None:
    """A text has none; what is under way or failed has no address, and a reason where there is one."""
    conversation = await own.conversation()
    await own.inbound(conversation, received=1)
    waiting = await own.inbound(conversation, received=2, type="audio", text="[voice message]")
    await own.media(waiting, state="waiting", reason="graph_unavailable", transcription_state="waiting")
    failed = await own.inbound(conversation, received=3, type="document", text="[document]")
    await own.media(failed, kind="document", state="failed", filename="a.pdf")
    unheard = await own.inbound(conversation, received=4, type="audio", text="[voice message]")
    await own.media(unheard, transcription_state="failed", transcription_reason="bad_audio")

    shown = (await page(client, conversation))["items"]

    assert [(item["transcription_state"], item["transcription_reason"]) for item in shown] == [
        (None, None),
        ("waiting", None),
        (None, None),
        ("failed", "bad_audio"),
    ]
    files = [
        item["media"] and tuple(item["media"][name] for name in ("state", "reason", "filename"))
        for item in shown
    ]
    assert files == [
        None,
        ("waiting", "graph_unavailable", None),
        ("failed", "gone", "a.pdf"),
        ("stored", None, None),
    ]
    assert [item["media"]["url"] is None for item in shown if item["media"]] == [True, True, False]


async def test_a_turn_item(client: AsyncClient, own: Rows) -> None:
    """A turn has its verdict and reason, the messages it read and what the call cost."""
    conversation = await own.conversation()
    message = await own.inbound(conversation)
    turn = await own.turn(
        conversation, [message], started=3, state="obsolete", reason="authority_revoked", confidence=0.5,
        wrote=True, usage={"input_tokens": 812, "output_tokens": 40},
    )  # fmt: skip

    assert (await page(client, conversation))["items"][1] == {
        "kind": "turn",
        "id": str(turn),
        "at": "2026-11-30T12:00:03Z",
        "state": "obsolete",
        "reason": "authority_revoked",
        "attempt": 1,
        "authority_version": 1,
        "messages": [str(message)],
        "wrote": True,
        "confidence": 0.5,
        "usage": {"input_tokens": 812, "output_tokens": 40},
        "ended_at": "2026-11-30T12:00:04Z",
    }


async def test_an_effect_item(client: AsyncClient, own: Rows) -> None:
    """A write has its tool, arguments and result, and whether the customer was told."""
    conversation = await own.conversation()
    effect = await own.effect(conversation, started=4, key="k", result={"slot": "9:00"})

    assert (await page(client, conversation))["items"] == [
        {
            "kind": "effect",
            "id": str(effect),
            "at": "2026-11-30T12:00:04Z",
            "state": "done",
            "reason": None,
            "tool": "book",
            "args": {"day": "sexta"},
            "result": {"slot": "9:00"},
            "key": "k",
            "turn": None,
            "authority_version": 1,
            "finished_at": "2026-11-30T12:00:05Z",
            "told_at": None,
        }
    ]


async def test_an_outbound_item(client: AsyncClient, own: Rows) -> None:
    """A message to the customer has its author, version, keys, state and the channel's fault."""
    conversation = await own.conversation()
    message = await own.outbound(
        conversation, author="operator", operator_id=OPERATOR, state="failed", reason="channel_error",
        key="k1", authority_version=4, external_id=f"wamid.{conversation}", attempt_count=2,
        error_code="131047", error_detail="Re-engagement message",
    )  # fmt: skip

    assert (await page(client, conversation))["items"] == [
        {
            "kind": "outbound",
            "id": str(message),
            "at": "2026-11-30T12:00:00Z",
            "state": "failed",
            "reason": "channel_error",
            "author": "operator",
            "type": "text",
            "text": "Olá!",
            **dict.fromkeys(("media", "buttons", "menu", "template", "reaction")),
            "authority_version": 4,
            "external_id": f"wamid.{conversation}",
            "key": "k1",
            "turn": None,
            "operator": str(OPERATOR),
            "part": 1,
            "part_count": 1,
            "attempt_count": 2,
            **dict.fromkeys(("sent_at", "delivered_at", "read_at")),
            "fault": {"code": "131047", "detail": "Re-engagement message"},
        }
    ]


async def test_authority_and_triage_items(client: AsyncClient, own: Rows) -> None:
    """A transition tells from where to where and whose it is; a triage what was decided and by whom."""
    conversation, bia = await own.conversation(), await own.operator("Bia")
    triage = await own.journal(
        "triage", conversation, written=1, state="merge", reason="rule",
        data={"decision": "merge", "decider": "rules", "covers": 2},
    )  # fmt: skip
    transition = await own.journal(
        "authority", conversation, written=2, state="HUMAN_ACTIVE", reason="manual",
        data={
            "from": "AI_ACTIVE", "to": "HUMAN_ACTIVE", "version": 2, "owner": str(bia),
            "note": "contrato",
        },
    )  # fmt: skip

    assert (await page(client, conversation))["items"] == [
        {
            "kind": "triage",
            "id": str(triage),
            "at": "2026-11-30T12:00:01Z",
            "state": "merge",
            "reason": "rule",
            "decision": "merge",
            "decider": "rules",
            "covers": 2,
        },
        {
            "kind": "authority",
            "id": str(transition),
            "at": "2026-11-30T12:00:02Z",
            "state": "HUMAN_ACTIVE",
            "reason": "manual",
            "from": "AI_ACTIVE",
            "to": "HUMAN_ACTIVE",
            "version": 2,
            "owner": {"id": str(bia), "name": "Bia"},
            "note": "contrato",
        },
    ]


async def shown_state(client: AsyncClient, conversation: UUID) -> tuple[str, str | None]:
    [item] = [item for item in (await page(client, conversation))["items"] if item["kind"] == "outbound"]
    return item["state"], item["reason"]


async def test_a_message_is_held_until_its_hold_is_over(
    client: AsyncClient, own: Rows, clock: ManualClock
) -> None:
    """`due` shows as `held` before its instant, and as `due` from then on."""
    conversation = await own.conversation()
    await own.outbound(conversation, state="due", due_at=at(5))

    assert await shown_state(client, conversation) == ("held", "hold")
    await clock.advance(5)
    assert await shown_state(client, conversation) == ("due", None)


async def test_an_ai_reply_is_held_while_triage_is_undecided(client: AsyncClient, own: Rows) -> None:
    """A newer message holds the AI's reply, not an operator's or the system's message."""
    conversation = await own.conversation(triage_due_at=at(0))
    message = await own.inbound(conversation)
    turn = await own.turn(conversation, [message])
    await own.outbound(conversation, state="due", author="ai", turn_id=turn)
    calm = await own.conversation(triage_due_at=at(0))
    await own.outbound(calm, state="due", author="system")

    assert await shown_state(client, conversation) == ("held", "triage")
    assert await shown_state(client, calm) == ("due", None)


async def test_an_operators_message_is_held_until_the_takeover_is_confirmed(
    client: AsyncClient, own: Rows
) -> None:
    """While the handoff is pending the owner's message waits for the confirmation."""
    conversation = await own.conversation(authority_state="HANDOFF_PENDING")
    await own.outbound(conversation, state="due", author="operator")

    assert await shown_state(client, conversation) == ("held", "takeover_pending")


async def test_a_message_that_waits_for_its_next_try_is_due(client: AsyncClient, own: Rows) -> None:
    """A back-off after a refused attempt is no hold."""
    conversation = await own.conversation()
    await own.outbound(conversation, state="due", due_at=at(5), attempt_count=1)

    assert await shown_state(client, conversation) == ("due", None)


async def test_items_that_are_committed_late_are_still_shown_once(client: AsyncClient, own: Rows) -> None:
    """A message whose time lies before what a page has shown comes on a later page."""
    conversation = await own.conversation()
    first = await own.inbound(conversation, received=0)
    sent = await own.outbound(conversation, sealed=10)
    later = await own.outbound(conversation, sealed=11)
    shown = await page(client, conversation, limit=2)
    late = await own.inbound(conversation, received=5)
    rest = await page(client, conversation, limit=5, cursor=shown["next_cursor"])

    assert [item["id"] for item in shown["items"] + rest["items"]] == [
        str(first), str(sent), str(late), str(later),
    ]  # fmt: skip


async def test_new_items_during_a_walk_are_neither_skipped_nor_repeated(
    client: AsyncClient, own: Rows
) -> None:
    """Whatever is added between pages of one item, each item is shown exactly once."""
    conversation = await own.conversation()
    made = {str(await own.inbound(conversation, received=0)), str(await own.outbound(conversation, sealed=0))}
    shown: list[str] = []
    cursor: dict[str, str] = {}
    for index in range(80):
        current = await page(client, conversation, limit=1, **cursor)
        shown += [item["id"] for item in current["items"]]
        if current["next_cursor"] is None:
            break
        cursor = {"cursor": current["next_cursor"]}
        if index < 12:
            made.add(str(await own.inbound(conversation, received=index % 3)))
            made.add(str(await own.journal("authority", conversation, written=12 - index)))
            made.add(str(await own.effect(conversation, started=index % 2)))
            made.add(str(await own.turn(conversation, [new_id()], started=index)))

    assert len(shown) == len(set(shown))
    assert set(shown) == made


async def test_at_one_instant_a_consequence_follows_its_cause(client: AsyncClient, own: Rows) -> None:
    """With equal times: what came in, the turn, the transition, and only then what went out."""
    conversation = await own.conversation()
    await own.outbound(conversation)
    await own.journal("authority", conversation)
    await own.effect(conversation)
    message = await own.inbound(conversation)
    await own.turn(conversation, [message])

    kinds = [item["kind"] for item in (await page(client, conversation))["items"]]

    assert kinds == ["inbound", "turn", "effect", "authority", "outbound"]


async def test_another_accounts_timeline_is_not_found(
    client: AsyncClient, other_client: AsyncClient, own: Rows, other: Rows
) -> None:
    """The timeline of another account's conversation answers as if it were not there."""
    theirs, _ = await story(other)
    mine = await own.conversation()

    assert (await client.get(f"/api/v1/conversations/{theirs}/timeline")).status_code == 404
    assert (await page(client, mine))["items"] == []
    assert len((await page(other_client, theirs))["items"]) == 9


async def test_a_page_has_at_most_200_items(client: AsyncClient, own: Rows) -> None:
    """A larger limit gives 200 and a cursor to the rest."""
    conversation = await own.conversation()
    for index in range(205):
        await own.inbound(conversation, received=index)

    shown = await page(client, conversation, limit=100_000)
    rest = await page(client, conversation, cursor=shown["next_cursor"])

    assert len(shown["items"]) == 200
    assert len((await page(client, conversation, limit=5, cursor=shown["next_cursor"]))["items"]) == 5
    assert (await page(client, conversation, limit=5, cursor=shown["next_cursor"]))["next_cursor"] is None
    assert len(rest["items"]) == 5
    assert rest["next_cursor"] is None
