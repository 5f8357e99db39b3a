"""The thread: who may speak, an honest word for every state, what was decided and why, and text that stays text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.console.thread import OPENING_ITEMS
from onevoice.entrypoints.operators import Operator, Role
from onevoice.store.database import Database
from onevoice.testing import ManualClock
from onevoice.testing.manual_clock import START
from tests.builders import at, new_id
from tests.console_client import Reader, commands_of, text_of
from tests.console_site import ConsoleSite, console_site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

NOW = 3600.0


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    clock = ManualClock()
    await clock.advance(NOW)
    async with console_site(
        database, api_database, owner, clock=clock, settings={"handoff": {"idle_return_seconds": 7200.0}}
    ) as site:
        yield site


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


@pytest.fixture
async def rui(site: ConsoleSite) -> Operator:
    return await site.operator("Rui")


@pytest.fixture
async def reader(site: ConsoleSite, ana: Operator) -> AsyncIterator[Reader]:
    reader = await Reader.signed_in(site, "Ana Lima")
    yield reader
    await reader.close()


COMMANDS: list[tuple[dict[str, object], str | None, set[str], set[str]]] = [
    # state, owner, an operator's commands, an admin's
    ({"authority_state": "AI_ACTIVE"}, None, {"take", "suspend"}, {"take", "suspend"}),
    (
        {"authority_state": "HANDOFF_PENDING"}, None,
        {"take", "release", "suspend"}, {"take", "release", "suspend"},
    ),
    ({"authority_state": "HANDOFF_PENDING"}, "Rui", set(), {"force", "release", "transfer", "suspend"}),
    (
        {"authority_state": "HANDOFF_PENDING"}, "Ana Lima",
        {"release", "force", "transfer", "suspend"}, {"force", "release", "transfer", "suspend"},
    ),
    ({"authority_state": "HUMAN_ACTIVE"}, "Rui", set(), {"force", "release", "transfer", "suspend"}),
    (
        {"authority_state": "HUMAN_ACTIVE"}, "Ana Lima",
        {"release", "transfer", "suspend"}, {"force", "release", "transfer", "suspend"},
    ),
    (
        {"authority_state": "HUMAN_ACTIVE", "authority_reason": "device_reply"}, None,
        {"take", "release", "suspend"}, {"take", "release", "suspend"},
    ),
    ({"authority_state": "AI_SUSPENDED"}, None, {"take", "resume"}, {"take", "resume"}),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "holder", "operators", "admins"), COMMANDS)
async def test_the_banner_offers_what_the_table_allows(
    site: ConsoleSite,
    reader: Reader,
    rui: Operator,
    ana: Operator,
    columns: dict[str, object],
    holder: str | None,
    operators: set[str],
    admins: set[str],
) -> None:
    """No button leads to a certain refusal, and whoever may not write is told who may."""
    names = {"Rui": rui.id, "Ana Lima": ana.id}
    owner = names[holder] if holder else None
    conversation = await site.rows.conversation(**columns, authority_owner=owner)  # type: ignore[arg-type]
    await site.operator("Chefe", role=Role.ADMIN)
    admin = await Reader.signed_in(site, "Chefe")

    page = await reader.thread(conversation)

    assert commands_of(page) == operators
    assert commands_of(await admin.thread(conversation)) == admins
    is_open = holder == "Ana Lima"
    assert ('data-keep disabled aria-describedby="blocked"' not in page.text) == is_open
    if holder == "Rui":
        assert "Only Rui may reply." in page.text
    await admin.close()


OUTBOUND: list[tuple[str, dict[str, object], str]] = [
    ("due", {}, "Queued"),
    ("due", {"due_at": at(NOW + 30)}, "Held waits its set time"),
    ("sending", {}, "Sending"),
    ("sent", {}, "Sent"),
    ("delivered", {}, "Delivered"),
    ("read", {}, "Read"),
    ("played", {}, "Played"),
    (
        "failed",
        {"reason": "channel_fix", "error_code": "131047", "error_detail": "Re-engagement message"},
        "Failed the channel does not take this message 131047 Re-engagement message Send as mine",
    ),
    (
        "parked",
        {"reason": "needs_template"},
        "Parked the reply window is closed Release Send as mine Discard",
    ),
    (
        "parked",
        {"reason": "authority_revoked"},
        "Parked the conversation changed hands before it left Send as mine Discard",
    ),
    ("uncertain", {"reason": "sender_lost"}, "Outcome unknown the server died while sending Discard"),
    (
        "cancelled",
        {"reason": "cancelled"},
        "Cancelled the customer wrote again and took it back Send as mine",
    ),
    ("superseded", {"reason": "superseded"}, "Superseded merged into the next answer Send as mine"),
    (
        "revoked",
        {"reason": "authority_revoked"},
        "Revoked before it left the conversation changed hands before it left Send as mine",
    ),
    ("failed", {"reason": "a_reason_of_tomorrow"}, "Failed a reason of tomorrow Send as mine"),
]


@pytest.mark.parametrize(("state", "columns", "words"), OUTBOUND)
async def test_a_message_says_honestly_how_it_stands(
    site: ConsoleSite, reader: Reader, ana: Operator, state: str, columns: dict[str, object], words: str
) -> None:
    """Its state, why, the channel's own error, and only the actions that would be allowed."""
    conversation = await site.rows.conversation(
        authority_state="HUMAN_ACTIVE", authority_owner=ana.id, authority_reason="manual"
    )
    message = await site.rows.outbound(conversation, state=state, sealed=10, author="operator", **columns)

    assert text_of(await reader.thread(conversation), f"out-{message}").partition("12:00 ")[2] == words


@pytest.mark.parametrize(
    ("state", "author", "offered"),
    [("AI_ACTIVE", "ai", True), ("HUMAN_ACTIVE", "ai", False), ("HUMAN_ACTIVE", "operator", True)],
)
async def test_the_ais_parked_words_are_not_released_over_a_human(
    site: ConsoleSite, reader: Reader, ana: Operator, state: str, author: str, offered: bool
) -> None:
    """Its holder sends them as their own, or discards them."""
    holder = {"authority_owner": ana.id, "authority_reason": "manual"} if state == "HUMAN_ACTIVE" else {}
    conversation = await site.rows.conversation(authority_state=state, **holder)  # type: ignore[arg-type]
    columns = {"turn_id": new_id()} if author == "ai" else {}
    message = await site.rows.outbound(
        conversation, state="parked", reason="needs_template", author=author, sealed=10, **columns
    )

    assert ("Release" in text_of(await reader.thread(conversation), f"out-{message}")) is offered


async def test_an_operator_who_does_not_own_it_is_offered_nothing(
    site: ConsoleSite, reader: Reader, rui: Operator
) -> None:
    """What another one holds is theirs to decide on."""
    conversation = await site.rows.conversation(
        authority_state="HUMAN_ACTIVE", authority_owner=rui.id, authority_reason="manual"
    )
    message = await site.rows.outbound(conversation, state="parked", reason="needs_template", sealed=10)

    assert text_of(await reader.thread(conversation), f"out-{message}").endswith("the reply window is closed")


async def test_the_trail_tells_what_was_decided_and_why(
    site: ConsoleSite, reader: Reader, ana: Operator, rui: Operator
) -> None:
    """Turns, triage, transitions, effects and notes stand in the thread, oldest first, each with its reason."""
    rows = site.rows
    conversation = await rows.conversation(
        authority_state="HUMAN_ACTIVE", authority_owner=ana.id, authority_reason="manual"
    )
    message = await rows.inbound(conversation, received=10, state="answered")
    await rows.turn(conversation, [message], started=20, state="discarded", reason="newer_message")
    await rows.journal(
        "triage",
        conversation,
        written=30,
        state="merge",
        reason="newer_message",
        data={"decision": "merge", "decider": "rules", "covers": 2},
    )
    await rows.turn(
        conversation, [message], started=40, state="handoff", reason="low_confidence", confidence=0.41
    )
    await rows.effect(conversation, started=50, state="failed", reason="tool_failed")
    await rows.journal(
        "authority",
        conversation,
        written=60,
        state="HUMAN_ACTIVE",
        reason="low_confidence",
        data={"to": "HUMAN_ACTIVE", "owner": str(ana.id), "note": "asked twice"},
    )
    await rows.insert(
        "note",
        {
            "account_id": rows.account, "id": new_id(), "conversation_id": conversation, "operator_id": rui.id,
            "text": "call first", "created_at": at(70),
        },
    )  # fmt: skip

    told = text_of_items(await reader.thread(conversation))

    expected = (
        "Today Ana oi 12:00",
        "The AI's answer was discarded the customer wrote again",
        "Triage: answer all together the customer wrote again · decided by rules",
        "The AI asked for a person the AI was not sure · confidence 41%",
        "book: failed day: sexta · the tool failed",
        "Ana Lima took over the AI was not sure · asked twice",
        "Rui call first 12:01 Internal note",
    )
    assert len(told) == len(expected)
    assert all(part in line for part, line in zip(expected, told, strict=True)), told


async def test_what_the_customer_wrote_stays_in_its_order(
    site: ConsoleSite, reader: Reader, ana: Operator
) -> None:
    """A clock that was set back dates the second message before the first; a note stands where its time says."""
    conversation = await site.rows.conversation(authority_state="HUMAN_ACTIVE", authority_owner=ana.id)
    for seconds, text in ((12, "first"), (10, "second"), (30, "third")):
        await site.rows.inbound(conversation, received=seconds, text=text)
    for seconds, text in ((40, "last"), (20, "between")):
        note = {"id": new_id(), "conversation_id": conversation, "text": text, "created_at": at(seconds)}
        await site.rows.insert("note", {"account_id": site.rows.account, **note})

    told = text_of_items(await reader.thread(conversation))

    expected = ("first", "second", "between", "third", "last")
    assert len(told) == len(expected)
    assert all(part in line for part, line in zip(expected, told, strict=True)), told


def text_of_items(page: object) -> list[str]:
    """Every entry of the thread, in order."""
    import re

    text: str = page.text  # type: ignore[attr-defined]
    return [text_of(page, name) for name in re.findall(r'<li class="entry [^"]*" id="([^"]+)"', text)]  # type: ignore[arg-type]


async def test_what_the_customer_does_not_know_is_pinned(
    site: ConsoleSite, reader: Reader, ana: Operator
) -> None:
    """An untold effect stays above the thread until a message told of it; one that waits can be decided."""
    conversation = await site.rows.conversation()
    await site.rows.effect(conversation, args={"day": "sexta", "time": "9:00"}, tool="book")
    await site.rows.effect(conversation, tool="told", told_at=at(5))
    await site.rows.effect(conversation, tool="refund", state="awaiting")

    page = await reader.thread(conversation)

    pins = page.text.partition('id="pins"')[2].partition('id="scroller"')[0]
    assert "Done, and the customer has not been told" in pins
    assert "day: sexta, time: 9:00" in pins
    assert "told</strong>" not in pins
    assert "The AI wants to do this. Approve?" in pins
    assert pins.count("Approve</button>") == 1


async def test_a_pending_takeover_counts_what_it_waits_for(
    site: ConsoleSite, reader: Reader, ana: Operator
) -> None:
    """AI sends and AI writes in flight; a colleague's own send is none."""
    conversation = await site.rows.conversation(
        authority_state="HANDOFF_PENDING", authority_owner=ana.id, authority_reason="manual"
    )
    message = await site.rows.inbound(conversation)
    turn = await site.rows.turn(conversation, [message])
    await site.rows.outbound(conversation, state="sending", author="ai", turn_id=turn)
    await site.rows.effect(conversation, state="started", turn_id=turn)

    page = await reader.thread(conversation)

    assert "Waiting for 2 sends or actions of the AI in flight." in page.text
    assert commands_of(page) >= {"force"}
    asked = await reader.client.get(f"/console/conversations/{conversation}/force")
    assert "2 send or action of the AI has no outcome yet" in asked.text


async def test_a_long_thread_opens_at_its_end(site: ConsoleSite, reader: Reader) -> None:
    """Earlier items come on request, joined to what is shown, without a gap and without a double."""
    conversation = await site.rows.conversation()
    count = OPENING_ITEMS * 2 + 5
    for number in range(count):
        # Some at one instant: no border may fall between them.
        await site.rows.inbound(conversation, received=number // 3, text=f"line {number}.", state="answered")

    sizes: list[int] = []
    page = await reader.thread(conversation)
    for _ in range(3):
        shown = text_of_items(page)
        sizes.append(len(shown))
        assert f"line {count - 1}." in shown[-1]
        before = page.text.partition("data-earlier")[0]
        if before == page.text:
            break
        page = await reader.client.get(before.rpartition('href="')[2].partition('"')[0].replace("&amp;", "&"))

    assert OPENING_ITEMS <= sizes[0] < OPENING_ITEMS + 3
    assert sizes[-1] == count
    assert "line 0." in shown[0]


async def test_odd_addresses_are_the_default_or_nothing(site: ConsoleSite, reader: Reader) -> None:
    """What is no id is not found; what is no instant, place or tab is left out."""
    conversation = await site.rows.conversation()

    assert (await reader.client.get("/console/conversations/nowhere")).status_code == 404
    assert (await reader.thread(new_id())).status_code == 404
    assert (await reader.client.get("/console/nothing/here")).status_code == 404
    odd = {"from": "9999-12-31T23:59:59Z", "draft": "x", "hide": "\x00", "after": "a~b~c", "tab": "'"}
    assert (await reader.thread(conversation, **odd)).status_code == 200
    assert (await reader.thread(conversation, **{"from": "0001-01-01T00:00:00+14:00"})).status_code == 200
    assert (
        await reader.desk(after=f"{START.isoformat()}~{START.isoformat()}~{UUID(int=0)}")
    ).status_code == 200
    assert (await reader.desk(after="0001-01-01T00:00:00+14:00~x~y", tab="mine")).status_code == 200


async def test_customer_text_is_text(site: ConsoleSite, reader: Reader, ana: Operator) -> None:
    """Markup in a name, a message, a note, a tool's arguments or a channel's error is shown as it is."""
    evil = '<img src=x onerror=alert(1)>"><script>alert(2)</script>'
    conversation = await site.rows.conversation(
        name=evil,
        address=evil,
        aliases=(evil,),
        authority_state="HUMAN_ACTIVE",
        authority_owner=ana.id,
        authority_reason=evil,
        authority_note=evil,
    )
    await site.rows.inbound(conversation, text=evil, transcription=evil)
    await site.rows.outbound(
        conversation, text=evil, state="failed", error_code="1", error_detail=evil, reason=evil
    )
    await site.rows.effect(conversation, tool=evil, args={evil: evil})
    await reader.post(conversation, "notes", text=evil)

    for page in (await reader.desk(tab="mine"), await reader.thread(conversation)):
        assert page.status_code == 200
        assert "<img" not in page.text
        assert "<script>" not in page.text
        assert "&lt;img" in page.text


async def test_times_are_the_browsers(site: ConsoleSite, reader: Reader) -> None:
    """In the zone its cookie names; an unknown one is UTC."""
    conversation = await site.rows.conversation()
    await site.rows.inbound(conversation, received=0)
    name = "onevoice_zone"

    reader.client.cookies.set(name, "America%2FSao_Paulo")
    assert ">09:00<" in (await reader.thread(conversation)).text
    for odd in ("Nowhere", "..%2F..%2Fetc%2Fpasswd", "x" * 500):
        reader.client.cookies.set(name, odd)
        assert ">12:00<" in (await reader.thread(conversation)).text


async def test_a_quiet_conversation_says_when_it_goes_back(
    site: ConsoleSite, reader: Reader, ana: Operator
) -> None:
    """The idle return is visible, unless it was taken by hand."""
    held = {"authority_state": "HUMAN_ACTIVE", "authority_owner": ana.id, "authority_reason": "manual"}
    free = await site.rows.conversation(active=0, address="1", **held)  # type: ignore[arg-type]
    kept = await site.rows.conversation(active=0, address="2", held_by_hand=True, **held)  # type: ignore[arg-type]

    assert "Goes back to the AI at 14:00 if left quiet." in (await reader.thread(free)).text
    assert "Stays with the team until somebody releases it." in (await reader.thread(kept)).text
    assert (START + timedelta(hours=2)).hour == 14
