"""What an operator does in the console: take, release, transfer, force, reply once, notes, and decide what waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.operators import Operator, Role
from onevoice.flow.authority.decide import Command
from onevoice.store.database import Database
from onevoice.testing import ManualClock
from tests.builders import new_id
from tests.console_client import Reader, field_of, text_of
from tests.console_site import ConsoleSite, console_site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

PART = {"x-console-part": "desk"}


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    async with console_site(database, api_database, owner, clock=ManualClock()) as site:
        yield site


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


@pytest.fixture
async def rui(site: ConsoleSite) -> Operator:
    return await site.operator("Rui")


@pytest.fixture
async def as_ana(site: ConsoleSite, ana: Operator) -> AsyncIterator[Reader]:
    reader = await Reader.signed_in(site, "Ana Lima")
    yield reader
    await reader.close()


@pytest.fixture
async def as_rui(site: ConsoleSite, rui: Operator) -> AsyncIterator[Reader]:
    reader = await Reader.signed_in(site, "Rui")
    yield reader
    await reader.close()


@pytest.fixture
async def as_admin(site: ConsoleSite) -> AsyncIterator[Reader]:
    await site.operator("Chefe", role=Role.ADMIN)
    reader = await Reader.signed_in(site, "Chefe")
    yield reader
    await reader.close()


async def texts_sealed(site: ConsoleSite) -> list[str]:
    rows = await site.rows.connection.fetch("select text from outbound_message order by seq")
    return [row["text"] for row in rows]


async def test_take_reply_release(site: ConsoleSite, as_ana: Reader, ana: Operator) -> None:
    """The whole round as plain forms: each success leads back to the thread."""
    conversation = await site.write("oi")

    taken = await as_ana.post(conversation, "take")
    assert (taken.status_code, taken.headers["location"].partition("#")[0]) == (
        303,
        f"/console/conversations/{conversation}?tab=waiting",
    )
    assert await site.authority(conversation) == ("HUMAN_ACTIVE", ana.id)
    page = await as_ana.thread(conversation)
    await as_ana.post(
        conversation, "messages", text="Olá!", key=field_of(page, "key"), seen=field_of(page, "seen")
    )
    assert await texts_sealed(site) == ["Olá!"]
    assert "unanswered" not in text_of(await as_ana.thread(conversation), f"in-{field_of(page, 'seen')}")
    await as_ana.post(conversation, "release")
    assert await site.authority(conversation) == ("AI_ACTIVE", None)


async def test_two_take_at_once(site: ConsoleSite, as_ana: Reader, as_rui: Reader) -> None:
    """One owner; the other is told the holder's name, in place, with what the thread looks like now."""
    conversation = await site.write("oi")

    answers = await asyncio.gather(as_ana.post(conversation, "take"), as_rui.post(conversation, "take"))

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    loser = next(answer for answer in answers if answer.status_code == 409)
    winner = "Rui" if answers[0] is loser else "Ana Lima"
    assert f"{winner} holds this conversation already." in loser.text
    assert f"Only {winner} may reply." in loser.text


async def test_who_does_not_own_it_sends_nothing(site: ConsoleSite, as_ana: Reader, as_rui: Reader) -> None:
    """The server refuses whatever the page allowed, names the holder, and keeps what was written."""
    conversation = await site.write("oi")
    await as_rui.post(conversation, "take")

    answer = await as_ana.post(conversation, "messages", text="<oi> também", key=str(new_id()))

    assert answer.status_code == 409
    assert "Only its holder may do this: Rui." in answer.text
    assert "&lt;oi&gt; também</textarea>" in answer.text
    assert await texts_sealed(site) == []


async def test_a_draft_is_sent_once(site: ConsoleSite, as_ana: Reader) -> None:
    """However often one draft is posted, at once or later, it is one message; its key takes no other text."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    key = str(new_id())

    answers = await asyncio.gather(
        *(as_ana.post(conversation, "messages", text="uma vez", key=key) for _ in range(4))
    )
    other = await as_ana.post(conversation, "messages", text="outra", key=key)

    assert {answer.status_code for answer in answers} == {303}
    assert other.status_code == 409
    assert "already sent with another text" in other.text
    assert await texts_sealed(site) == ["uma vez"]


async def test_what_was_not_on_the_screen_stays_open(site: ConsoleSite, as_ana: Reader) -> None:
    """A message that came after the page was read is not answered by the reply."""
    conversation = await site.write("primeira")
    await as_ana.post(conversation, "take")
    page = await as_ana.thread(conversation)
    await site.write("segunda")

    await as_ana.post(
        conversation, "messages", text="Olá!", key=field_of(page, "key"), seen=field_of(page, "seen")
    )

    rows = await site.rows.connection.fetch("select text, state from inbound_message order by seq")
    assert [(row["text"], row["state"]) for row in rows] == [("primeira", "answered"), ("segunda", "open")]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"text": "  \n ", "key": str(new_id())}, 422),
        ({"text": "oi"}, 422),
        ({"text": "oi", "key": "no id"}, 422),
        ({"text": "oi", "key": str(new_id()), "seen": "no such message"}, 422),
        ({"text": "oi", "key": str(new_id()), "suggestion": "no id"}, 422),
        ({"suggestion": str(new_id()), "key": str(new_id())}, 409),
    ],
)
async def test_an_unfinished_message_is_refused(
    site: ConsoleSite, as_ana: Reader, fields: dict[str, str], status: int
) -> None:
    """No words, no key, an unknown suggestion or screen: nothing is sent, and the page says so."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")

    answer = await as_ana.post(conversation, "messages", **fields)

    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert await texts_sealed(site) == []


async def test_a_part_is_answered_with_parts(site: ConsoleSite, as_ana: Reader, as_rui: Reader) -> None:
    """The live page gets the swapped regions alone, for a success as for a conflict, and no redirect."""
    conversation = await site.write("oi")
    as_ana.client.headers.update(PART)
    as_rui.client.headers.update(PART)

    taken = await as_ana.post(conversation, "take")
    refused = await as_rui.post(conversation, "take")
    listed = await as_ana.client.get("/console?tab=mine", headers={"x-console-part": "list"})

    assert (taken.status_code, refused.status_code) == (200, 409)
    for answer in (taken, refused, listed):
        assert "<html" not in answer.text
        assert "data-part" in answer.text
    assert "You answer" in taken.text
    assert 'id="items"' not in listed.text


async def test_transfer(site: ConsoleSite, as_ana: Reader, as_rui: Reader, rui: Operator) -> None:
    """To a colleague of the select; to nobody and to an unknown one it is refused."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    assert f'<option value="{rui.id}">Rui</option>' in (await as_ana.thread(conversation)).text

    assert (await as_ana.post(conversation, "transfer", to="")).status_code == 422
    assert (await as_ana.post(conversation, "transfer", to=str(new_id()))).status_code == 422
    assert (await as_ana.post(conversation, "transfer", to=str(rui.id))).status_code == 303

    assert await site.authority(conversation) == ("HUMAN_ACTIVE", rui.id)
    assert "You answer" in (await as_rui.thread(conversation)).text


async def test_suspend_and_resume(site: ConsoleSite, as_ana: Reader) -> None:
    """With a note for whoever reads it next."""
    conversation = await site.write("oi")

    await as_ana.post(conversation, "suspend", note="cliente pediu silêncio")
    page = await as_ana.thread(conversation)
    assert await site.authority(conversation) == ("AI_SUSPENDED", None)
    assert "cliente pediu silêncio" in page.text
    await as_ana.post(conversation, "resume")
    assert await site.authority(conversation) == ("AI_ACTIVE", None)


async def test_a_command_that_came_too_late(site: ConsoleSite, as_ana: Reader) -> None:
    """What the state does not allow any more is refused and shown as it is now."""
    conversation = await site.write("oi")

    answer = await as_ana.post(conversation, "release")

    assert answer.status_code == 409
    assert "The state has changed" in answer.text
    assert "The AI answers" in answer.text
    assert (await as_ana.post(conversation, "explode")).status_code == 404


async def test_forcing_is_an_admins_after_a_question(
    site: ConsoleSite, as_ana: Reader, as_rui: Reader, as_admin: Reader
) -> None:
    """An operator gets neither the page nor the command; an admin is told what it does, then does it."""
    conversation = await site.write("oi")
    await as_rui.post(conversation, "take")
    address = f"/console/conversations/{conversation}/force"

    assert (await as_ana.client.get(address)).status_code == 403
    refused = await as_ana.post(conversation, "force")
    assert refused.status_code == 403
    assert "Only an admin may take a conversation from Rui." in refused.text
    question = await as_admin.client.get(address)
    assert "Rui holds this conversation." in question.text
    assert (await site.authority(conversation))[0] == "HUMAN_ACTIVE"
    assert (await as_admin.post(conversation, "force")).status_code == 303
    assert "Chefe" in (await as_ana.thread(conversation)).text


async def test_there_is_nothing_to_force(site: ConsoleSite, as_admin: Reader) -> None:
    """Where a plain take is enough, the page says so and offers no force."""
    conversation = await site.write("oi")

    page = await as_admin.client.get(f"/console/conversations/{conversation}/force")

    assert "There is nothing to force" in page.text
    assert "Yes, take it by force" not in page.text


async def test_a_note_is_seen_by_colleagues(site: ConsoleSite, as_ana: Reader, as_rui: Reader) -> None:
    """Whoever may read the conversation may leave one, whoever holds it; the customer is sent nothing."""
    conversation = await site.write("oi")
    await as_rui.post(conversation, "take")

    await as_ana.post(conversation, "notes", text="ligar antes")

    assert "ligar antes" in (await as_rui.thread(conversation)).text
    assert (await as_ana.post(conversation, "notes", text=" ")).status_code == 422
    assert await texts_sealed(site) == []


async def suggest(site: ConsoleSite, conversation: UUID, text: str) -> UUID:
    """A suggestion that holds now."""
    row = await site.rows.connection.fetchrow(
        "select authority_version, arrival_count from conversation where id = $1", conversation
    )
    assert row is not None
    suggestion = new_id()
    columns = {
        "account_id": site.rows.account,
        "id": suggestion,
        "conversation_id": conversation,
        "text": text,
        "authority_version": row["authority_version"],
        "arrivals_seen": row["arrival_count"],
        "created_at": site.runtime.clock.now(),
    }
    await site.rows.insert("suggestion", columns)
    return suggestion


async def suggestion_state(site: ConsoleSite, suggestion: UUID) -> str:
    state: str = await site.rows.connection.fetchval("select state from suggestion where id = $1", suggestion)
    return state


async def test_a_suggestion_is_sent_as_it_is(site: ConsoleSite, as_ana: Reader) -> None:
    """Once, however often it is pressed."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    suggestion = await suggest(site, conversation, "Olá, tudo bem?")
    assert "Olá, tudo bem?" in (await as_ana.thread(conversation)).text

    for _ in range(2):
        sent = await as_ana.post(conversation, "messages", suggestion=str(suggestion), key=str(suggestion))
        assert sent.status_code == 303

    assert await texts_sealed(site) == ["Olá, tudo bem?"]
    assert await suggestion_state(site, suggestion) == "used"


async def test_a_suggestion_is_edited(site: ConsoleSite, as_ana: Reader) -> None:
    """Its text stands in the composer with its id; what is sent counts as edited."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    suggestion = await suggest(site, conversation, "Olá")

    page = await as_ana.thread(conversation, draft=str(suggestion))
    assert ">Olá</textarea>" in page.text
    assert field_of(page, "suggestion") == str(suggestion)
    await as_ana.post(
        conversation, "messages", text="Olá, Ana", suggestion=str(suggestion), key=field_of(page, "key")
    )

    assert await texts_sealed(site) == ["Olá, Ana"]
    assert await suggestion_state(site, suggestion) == "edited"


async def test_a_suggestion_is_withdrawn_and_discarded(
    site: ConsoleSite, as_ana: Reader, as_rui: Reader
) -> None:
    """Nobody but the owner is shown it; a discarded one is hidden, one that the thread overtook is gone."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    suggestion = await suggest(site, conversation, "Sugestão viva")

    assert "Sugestão viva" not in (await as_rui.thread(conversation)).text
    assert "Sugestão viva" not in (await as_ana.thread(conversation, hide=str(suggestion))).text
    assert "Sugestão viva" in (await as_ana.thread(conversation, hide=str(new_id()))).text
    await site.write("mudei de ideia")
    assert "Sugestão viva" not in (await as_ana.thread(conversation)).text


async def test_what_is_parked_is_released_discarded_or_made_ones_own(
    site: ConsoleSite, as_ana: Reader, as_rui: Reader
) -> None:
    """Each button does its own; somebody else's conversation is refused."""
    conversation = await site.write("oi")
    await as_ana.post(conversation, "take")
    parked = {"state": "parked", "reason": "needs_template"}
    ids = [
        await site.rows.outbound(conversation, text=text, author=author, **parked)
        for text, author in (("liberar", "operator"), ("descartar", "system"), ("adotar", "system"))
    ]

    assert (await as_rui.post(conversation, f"outbound/{ids[0]}/release")).status_code == 409
    answers = [
        await as_ana.post(conversation, f"outbound/{outbound}/{decision}")
        for outbound, decision in zip(ids, ("release", "discard", "mine"), strict=True)
    ]
    answers.append(await as_ana.post(conversation, f"outbound/{ids[2]}/mine"))

    assert {answer.status_code for answer in answers} == {303}
    rows = await site.rows.connection.fetch("select text, state, author from outbound_message order by seq")
    states = {(row["text"], row["author"]): row["state"] for row in rows}
    assert states[("descartar", "system")] == "cancelled"
    assert states[("adotar", "operator")] == "due"
    assert "due" in {state for (text, _), state in states.items() if text == "liberar"}
    assert [row["text"] for row in rows].count("adotar") == 2
    for path in (f"outbound/{new_id()}/discard", "outbound/nowhere/discard", f"outbound/{ids[0]}/explode"):
        assert (await as_ana.post(conversation, path)).status_code == 404


async def test_a_write_that_waits_is_decided(site: ConsoleSite, as_ana: Reader) -> None:
    """Refusing ends it; approving one whose turn is over says that the agent will ask anew."""
    conversation = await site.write("oi")
    message = await site.rows.inbound(conversation)
    turn = await site.rows.turn(conversation, [message])
    refused = await site.rows.effect(conversation, state="awaiting", turn_id=turn)
    late = await site.rows.effect(conversation, state="awaiting", turn_id=turn)

    assert (await as_ana.post(conversation, f"effects/{refused}/refuse")).status_code == 303
    answer = await as_ana.post(conversation, f"effects/{late}/approve", version="1")

    assert answer.status_code == 409
    assert "The turn that asked for this has ended." in answer.text
    states = await site.rows.connection.fetch("select state from effect")
    assert {row["state"] for row in states} == {"refused"}
    for path in (f"effects/{new_id()}/approve", "effects/x/approve", f"effects/{late}/explode"):
        assert (await as_ana.post(conversation, path)).status_code == 404


async def test_what_a_device_took_can_be_taken(site: ConsoleSite, as_ana: Reader, ana: Operator) -> None:
    """The business's own phone holds nothing against an operator."""
    conversation = await site.write("oi")
    await site.command(conversation, Command.DEVICE_REPLY)
    page = await as_ana.thread(conversation)
    assert "Answered from the business&#39;s phone" in page.text

    await as_ana.post(conversation, "take")

    assert await site.authority(conversation) == ("HUMAN_ACTIVE", ana.id)
