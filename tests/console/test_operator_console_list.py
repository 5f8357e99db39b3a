"""The list of conversations: order, tabs, search and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from onevoice.adapters.channels.whatsapp.contact import alias_of
from onevoice.entrypoints.console.listing import PAGE_ROWS
from onevoice.entrypoints.operators import Operator
from onevoice.store.database import Database
from onevoice.testing import ManualClock
from tests.builders import at
from tests.console_client import Reader, rows_of
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


async def test_who_waits_longest_comes_first(site: ConsoleSite, reader: Reader) -> None:
    """By the customer's first unanswered message; a newer one does not move them back."""
    for name, since, active in (("Late", 300, 310), ("Early", 100, 3000), ("Middle", 200, 250)):
        await site.rows.conversation(
            name=name,
            address=name,
            active=active,
            authority_state="HANDOFF_PENDING",
            authority_reason="low_confidence",
            open_since=at(since),
        )

    page = await reader.desk()

    assert rows_of(page) == ["Early", "Middle", "Late"]
    assert "the AI was not sure" in page.text


async def test_waiting_is_what_nobody_holds(site: ConsoleSite, reader: Reader, rui: Operator) -> None:
    """Owned, device-held and plain AI conversations wait for nobody; a parked reply of the AI does."""
    held = {"authority_state": "HANDOFF_PENDING", "authority_reason": "manual"}
    await site.rows.conversation(name="Owned", address="1", authority_owner=rui.id, **held)
    await site.rows.conversation(
        name="Device", address="2", authority_state="HANDOFF_PENDING", authority_reason="device_reply"
    )
    await site.rows.conversation(name="With the AI", address="3")
    parked = await site.rows.conversation(name="Parked", address="4")
    await site.rows.outbound(parked, state="parked", reason="needs_template", sealed=10)
    await site.rows.outbound(parked, state="parked", reason="needs_template", sealed=20)

    page = await reader.desk()

    assert rows_of(page) == ["Parked"]
    assert "reply parked" in page.text


async def test_the_tabs(site: ConsoleSite, reader: Reader, ana: Operator, rui: Operator) -> None:
    """Each shows its own; mine puts whose customer waits first."""
    await site.rows.conversation(name="AI", address="1", active=1)
    await site.rows.conversation(name="Stopped", address="2", active=2, authority_state="AI_SUSPENDED")
    human = {"authority_state": "HUMAN_ACTIVE", "authority_reason": "manual"}
    await site.rows.conversation(name="Rui's", address="3", active=3, authority_owner=rui.id, **human)
    await site.rows.conversation(name="Quiet", address="4", active=50, authority_owner=ana.id, **human)
    await site.rows.conversation(
        name="Asking", address="5", active=5, authority_owner=ana.id, open_since=at(4), **human
    )

    shown = {
        tab: rows_of(await reader.desk(tab=tab)) for tab in ("mine", "ai", "suspended", "all", "waiting")
    }

    assert shown == {
        "mine": ["Asking", "Quiet"],
        "ai": ["AI"],
        "suspended": ["Stopped"],
        "all": ["Quiet", "Asking", "Rui's", "Stopped", "AI"],
        "waiting": [],
    }
    page = await reader.desk(tab="nonsense")
    assert 'data-attention="1"' in page.text


@pytest.mark.parametrize("tab", ["waiting", "mine", "all"])
async def test_pages_neither_skip_nor_repeat(
    site: ConsoleSite, reader: Reader, ana: Operator, tab: str
) -> None:
    """Walking the pages shows every conversation once, those that stand at one instant too."""
    count = PAGE_ROWS * 2 + 3
    state = {
        "waiting": {"authority_state": "HANDOFF_PENDING", "authority_reason": "manual"},
        "mine": {"authority_state": "HUMAN_ACTIVE", "authority_owner": ana.id, "authority_reason": "manual"},
        "all": {},
    }[tab]
    for number in range(count):
        since = None if number % 3 else at(number // 10)
        await site.rows.conversation(
            name=f"n{number}", address=f"a{number}", active=number // 10, open_since=since, **state
        )

    seen: list[str] = []
    page = await reader.desk(tab=tab)
    for _ in range(3):
        seen += rows_of(page)
        link = page.text.rpartition('href="')[0] and page.text.partition("More conversations")[0]
        address = link.rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
        page = await reader.client.get(address)

    assert len(seen) == count
    assert set(seen) == {f"n{number}" for number in range(count)}


@pytest.mark.parametrize("typed", ["Beatriz", "TRIZ nog", "+55 11 98888-7777", "5511988887777", "8888"])
async def test_a_contact_is_found(site: ConsoleSite, reader: Reader, typed: str) -> None:
    """By a part of the name or address, or a phone number in any of its forms."""
    for name, address in (("Beatriz Nogueira", "5511988887777"), ("Carlos", "5521977776666")):
        await site.rows.conversation(name=name, address=address, aliases=(alias_of(address),))

    assert rows_of(await reader.desk(q=typed)) == ["Beatriz Nogueira"]


async def test_a_search_is_text(site: ConsoleSite, reader: Reader) -> None:
    """Wildcards mean themselves, NUL is dropped, and what was typed is shown as text."""
    await site.rows.conversation(name="100% sim_não", address="1")
    await site.rows.conversation(name="Carlos", address="2")

    assert rows_of(await reader.desk(q="%")) == ["100% sim_não"]
    assert rows_of(await reader.desk(q="_")) == ["100% sim_não"]
    page = await reader.desk(q='\x00"><b>')
    assert page.status_code == 200
    assert '"><b>' not in page.text


async def test_a_webchat_visitor_is_no_row_of_digits(site: ConsoleSite, reader: Reader) -> None:
    """Without a name they are told apart by the beginning of their id, which the search finds; a name wins."""
    await site.rows.conversation(address="fa87aa2ac0bf752f0b19659d18499329", name=None, active=100)
    await site.rows.conversation(address="0bf752f0b19659d18499329fa87aa2ac", name="Ana", active=90)
    await site.rows.conversation(address="5511999990000", name=None, active=80)

    page = await reader.desk(tab="all")

    assert rows_of(page) == ["Visitor fa87aa", "Ana", "5511999990000"]
    assert rows_of(await reader.desk(tab="all", q="fa87aa")) == ["Visitor fa87aa", "Ana"]
