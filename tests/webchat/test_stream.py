"""The visitor's live stream over a real server: snapshot, changes, resumption, limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from httpx2 import AsyncClient, Response

from onevoice.entrypoints.http.webchat.view import PAGE_ITEMS
from tests.builders import new_id
from tests.webchat_site import Site, serve


@dataclass
class Event:
    id: str
    name: str
    data: Any


class Events:
    """Reads server-sent events, one at a time, each within a limit."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self, name: str | None = None) -> Event:
        """The next event; with a name, the next of that name."""
        async with asyncio.timeout(10):
            while True:
                event = await self._read()
                if name is None or event.name == name:
                    return event

    async def _read(self) -> Event:
        fields: dict[str, str] = {}
        async for line in self._lines:
            if line:
                key, _, value = line.partition(": ")
                fields[key] = value
            elif "data" in fields:
                return Event(fields["id"], fields["event"], json.loads(fields["data"]))
            else:
                fields = {}
        raise EOFError


def texts(event: Event) -> list[str]:
    return [item["text"] for item in event.data["items"]]


@pytest.fixture
async def browser(site: Site) -> AsyncIterator[AsyncClient]:
    """A browser on a real server, with the page loaded."""
    async with (
        serve(site.app(), site.feed) as url,
        AsyncClient(base_url=url, headers={"origin": url}) as client,
    ):
        await client.get("/chat/loja")
        yield client


async def send(client: AsyncClient, text: str, message_id: UUID | None = None) -> UUID:
    message_id = message_id or new_id()
    answer = await client.post("/chat/loja/messages", json={"id": str(message_id), "text": text})
    assert answer.status_code == 200
    return message_id


@asynccontextmanager
async def events(client: AsyncClient, after: str = "") -> AsyncIterator[Events]:
    headers = {"last-event-id": after} if after else {}
    async with client.stream("GET", "/chat/loja/events", headers=headers) as answer:
        assert answer.status_code == 200
        yield Events(answer)


def visitor_of(client: AsyncClient) -> str:
    return client.cookies["onevoice_visitor_loja"].partition(".")[0]


async def test_an_idle_visitor_costs_no_stream(browser: AsyncClient) -> None:
    """Before the first message there is nothing to say, and the answer says so."""
    answer = await browser.get("/chat/loja/events")

    assert answer.status_code == 204


async def test_own_messages_and_replies_arrive_in_order(site: Site, browser: AsyncClient) -> None:
    """The snapshot has what was said; what is said next arrives by itself, each thing under one key."""
    first = await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    async with events(browser) as stream:
        snapshot = await stream.next("snapshot")
        second = await send(browser, "tudo bem?")
        own = await stream.next("items")
        await site.say(conversation, "Olá!")
        reply = await stream.next("items")

    assert [item["key"] for item in snapshot.data["items"]] == [f"in:{first}"]
    assert [item["key"] for item in own.data["items"]] == [f"in:{second}"]
    assert [(item["text"], item["author"], item["state"]) for item in reply.data["items"]] == [
        ("Olá!", "system", "sent")
    ]
    orders = [item["order"] for event in (snapshot, own, reply) for item in event.data["items"]]
    assert orders == sorted(orders)


@pytest.mark.parametrize(
    "state", ["due", "sending", "failed", "parked", "uncertain", "cancelled", "superseded", "revoked"]
)
async def test_what_was_not_sent_is_never_shown(site: Site, browser: AsyncClient, state: str) -> None:
    """Only a recorded send makes a message visible; a held, dropped or doubtful one stays inside."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    hidden = await site.say(conversation, "segredo", state=state)
    async with events(browser) as stream:
        snapshot = await stream.next("snapshot")
        await site.change("outbound_message", hidden, conversation, payload="{}")
        await site.say(conversation, "visível")
        change = await stream.next("items")

    assert texts(snapshot) == ["oi"]
    assert texts(change) == ["visível"]


async def test_states_move_forward(site: Site, browser: AsyncClient) -> None:
    """A claimed message turns into a seen one, and receipts raise the version of a reply."""
    message = await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    reply = await site.say(conversation, "Olá!")
    async with events(browser) as stream:
        snapshot = await stream.next("snapshot")
        row = await site.connection.fetchval("select id from inbound_message")
        await site.change("inbound_message", row, conversation, state="answered", state_reason="turn_sealed")
        seen = await stream.next("items")
        receipt = await browser.post("/chat/loja/receipts", json={"ids": [str(reply)], "status": "read"})
        read = await stream.next("items")

    assert [(item["state"], item["version"]) for item in snapshot.data["items"]] == [
        ("received", 1),
        ("sent", 1),
    ]
    assert [(item["key"], item["state"], item["version"]) for item in seen.data["items"]] == [
        (f"in:{message}", "seen", 2)
    ]
    assert receipt.status_code == 204
    assert [(item["key"], item["state"], item["version"]) for item in read.data["items"]] == [
        (f"out:{reply}", "read", 3)
    ]


async def test_a_freed_message_does_not_become_unseen(site: Site, browser: AsyncClient) -> None:
    """A discarded turn frees its messages; the visitor's ticks do not go back for that."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    row = await site.connection.fetchval("select id from inbound_message")
    async with events(browser) as stream:
        await stream.next("snapshot")
        await site.change("inbound_message", row, conversation, state="answered", state_reason="turn_sealed")
        assert (await stream.next("items")).data["items"][0]["state"] == "seen"
        await site.change("inbound_message", row, conversation, state="open", state_reason=None)
        await site.say(conversation, "Olá!")

        assert texts(await stream.next("items")) == ["Olá!"]


async def test_typing_is_shown_while_a_turn_runs_or_a_reply_waits(site: Site, browser: AsyncClient) -> None:
    """A running turn and a reply about to leave are typing; a message scheduled for tomorrow is not."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    now = site.clock.now()
    assert now is not None
    async with events(browser) as stream:
        assert (await stream.next("state")).data == {"typing": False, "human": False}
        await site.think(conversation, is_thinking=True)
        assert (await stream.next("state")).data["typing"] is True
        await site.think(conversation, is_thinking=False)
        assert (await stream.next("state")).data["typing"] is False
        held = await site.say(conversation, "já vai", state="due", due_at=now)
        assert (await stream.next("state")).data["typing"] is True
        await site.change("outbound_message", held, conversation, due_at=now.replace(year=now.year + 1))
        assert (await stream.next("state")).data["typing"] is False
        await site.change("conversation", conversation, conversation, authority_state="HUMAN_ACTIVE")
        assert (await stream.next("state")).data == {"typing": False, "human": True}


async def test_resuming_neither_loses_nor_doubles(site: Site, browser: AsyncClient) -> None:
    """What happened between two connections is in the second one's snapshot, under the same keys."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    seen: dict[str, str] = {}
    async with events(browser) as stream:
        event = await stream.next("state")
    await site.say(conversation, "perdida?")
    await send(browser, "alô?")
    async with events(browser, after=event.id) as stream:
        snapshot = await stream.next()
        await site.say(conversation, "aqui")
        change = await stream.next("items")
    for item in [*snapshot.data["items"], *change.data["items"]]:
        assert item["key"] not in seen
        seen[item["key"]] = item["text"]

    assert snapshot.name == "snapshot"
    assert list(seen.values()) == ["oi", "perdida?", "alô?", "aqui"]


async def test_resuming_when_nothing_happened_repeats_nothing(site: Site, browser: AsyncClient) -> None:
    """A reconnecting browser that missed nothing is sent the state alone."""
    await send(browser, "oi")
    async with events(browser) as stream:
        await stream.next("snapshot")
        last = await stream.next("state")
    async with events(browser, after=last.id) as stream:
        assert (await stream.next()).name == "state"
    async with events(browser, after="not an id") as stream:
        assert (await stream.next()).name == "snapshot"


async def test_a_second_tab_sees_the_same(site: Site, browser: AsyncClient) -> None:
    """Two streams of one visitor get the same items under the same keys and versions."""
    await send(browser, "oi")
    async with events(browser) as one, events(browser) as other:
        await one.next("state")
        await other.next("state")
        await send(browser, "em duas abas")

        assert (await one.next("items")).data == (await other.next("items")).data


async def test_more_than_a_page_at_once_is_a_new_snapshot(site: Site, browser: AsyncClient) -> None:
    """When a stream falls a whole page behind, the browser is not made to join what a gap separates."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    async with events(browser) as stream:
        await stream.next("state")
        async with site.connection.transaction():
            for number in range(PAGE_ITEMS + 5):
                await site.rows.outbound(conversation, text=f"m{number:03d}", sealed=number)
            await site.rows.journal("outbound", conversation)
            await site.connection.execute("update inbound_message set received_at = '2020-01-01Z'")
        event = await stream.next()

    assert event.name == "snapshot"
    assert event.data["has_earlier"] is True
    assert len(texts(event)) == PAGE_ITEMS
    assert texts(event)[-1] == f"m{PAGE_ITEMS + 4:03d}"


async def test_earlier_messages_come_page_by_page(site: Site, browser: AsyncClient) -> None:
    """Walking back from the snapshot shows every message once, in order, equal instants included."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    for number in range(PAGE_ITEMS):
        for _ in range(2):
            await site.rows.inbound(conversation, received=number // 7)
            await site.rows.outbound(conversation, sealed=number // 7)
    async with events(browser) as stream:
        items = (await stream.next("snapshot")).data["items"]
    has_earlier = True
    while has_earlier:
        answer = await browser.get("/chat/loja/messages", params={"before": items[0]["order"]})
        page = answer.json()
        items = page["items"] + items
        has_earlier = page["has_earlier"]

    orders = [item["order"] for item in items]
    assert len({item["key"] for item in items}) == len(items) == PAGE_ITEMS * 4 + 1
    assert orders == sorted(orders)


async def test_a_message_that_waited_long_is_new_when_it_is_sent(site: Site, browser: AsyncClient) -> None:
    """A follow-up sealed before a page of other messages is shown once it is sent, at the end."""
    await send(browser, "oi")
    conversation = await site.conversation(visitor_of(browser))
    follow_up = await site.say(conversation, "lembrete", state="due")
    for number in range(PAGE_ITEMS * 2):
        await site.rows.outbound(conversation, sealed=number, text=f"m{number}")
    async with events(browser) as stream:
        await stream.next("state")
        now = await site.connection.fetchval("select clock_timestamp()")
        await site.change("outbound_message", follow_up, conversation, state="sent", sent_at=now)

        assert texts(await stream.next("items")) == ["lembrete"]


async def test_a_visitor_opens_five_streams_at_most(site: Site, browser: AsyncClient) -> None:
    """The sixth is refused, and a closed one makes room."""
    await send(browser, "oi")
    async with events(browser), events(browser), events(browser), events(browser):
        async with events(browser):
            refused = await browser.get("/chat/loja/events")
        assert refused.status_code == 429
        assert refused.json()["error"] == "too_many_requests"
        async with asyncio.timeout(10):
            while (await _try_stream(browser)) != 200:
                await site.texts()


async def _try_stream(client: AsyncClient) -> int:
    async with client.stream("GET", "/chat/loja/events") as answer:
        return answer.status_code


async def test_a_stopping_server_ends_its_streams(site: Site, browser: AsyncClient) -> None:
    """Stopping the feed ends every stream; the browser then comes back elsewhere."""
    await send(browser, "oi")
    async with events(browser) as stream:
        await stream.next("state")
        await site.feed.stop()
        with pytest.raises(EOFError):
            await stream.next("never sent")
