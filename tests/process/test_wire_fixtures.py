"""The acceptance fixtures of the WhatsApp wire format (numbers in brackets), end to end over one server."""

from __future__ import annotations

import json
from itertools import count

import pytest

from onevoice.testing import LoopbackGraph
from onevoice.testing.graph_server import Accept, DropRead, GraphRequest, Refuse
from tests.process.conftest import Place, SharedServer
from tests.process.door import Door
from tests.process.server import eventually
from tests.process.test_door import counted
from tests.wire.whatsapp.wire import envelope

_numbers = count(21_800_000_000)


@pytest.fixture
def contact() -> str:
    """Somebody who has not written before."""
    return f"55{next(_numbers)}"


async def answered(door: Door, graph: LoopbackGraph, contact: str, text: str = "oi") -> GraphRequest:
    """Bring one message to its answer; returns the send."""
    await door.say(text, contact=contact)
    await door.reaches("outbound", "sent", contact=contact)
    [request] = sent_to(graph, contact)
    return request


def sent_to(graph: LoopbackGraph, contact: str) -> list[GraphRequest]:
    return [request for request in graph.messages if request.address == contact]


async def test_1_a_broken_item_takes_no_neighbour_down(
    shared: Door, shared_graph: LoopbackGraph, shared_server: SharedServer, contact: str
) -> None:
    """[1] A malformed message, a good one and a status in one body: the good ones count, the other is kept."""
    first = await answered(shared, shared_graph, contact)
    before = await counted(shared_server, "select count(*) from unknown_event")
    broken = {"id": {"not": "a string"}, "from": 7, "type": ["text"]}
    status = {
        "id": first.external_id,
        "status": "delivered",
        "timestamp": "1790000101",
        "recipient_id": contact,
    }
    good = shared.message("segunda", contact=contact)

    answer = await shared.deliver(broken, good, statuses=[status])

    assert answer == 200
    await shared.reaches("outbound", "delivered", "sent", contact=contact)
    assert await shared.states("inbound", contact) == ["answered", "answered"]
    assert await counted(shared_server, "select count(*) from unknown_event") == before + 1


async def test_2_the_same_id_twice_counts_once(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[2] A redelivery with its keys in another order is the same message, answered or not."""
    item = shared.message("oi", contact=contact)
    again = dict(reversed(list(item.items())))

    assert await shared.deliver(item) == 200
    assert await shared.deliver(again) == 200
    await shared.reaches("outbound", "sent", contact=contact)
    assert await shared.deliver(again) == 200

    assert await shared.states("inbound", contact) == ["answered"]
    assert await shared.states("turn", contact) == ["sealed"]
    assert len(sent_to(shared_graph, contact)) == 1


async def test_3_a_status_before_its_id_is_known_waits_for_it(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[3] The status of a message whose send has not returned is kept and joined later."""
    external_id = f"wamid.EARLY.{contact}"
    shared_graph.script(contact, Accept(external_id=external_id))
    await shared.report(external_id, "delivered", recipient_id=contact)

    await shared.say("oi", contact=contact)

    [message] = await shared.reaches("outbound", "delivered", contact=contact)
    assert message["external_id"] == external_id


async def test_4_statuses_only_rise_and_failed_is_corrected(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[4] Delivered after read changes nothing; delivered after failed corrects it."""
    request = await answered(shared, shared_graph, contact)
    external_id = str(request.external_id)
    await shared.report(external_id, "read", recipient_id=contact)
    await shared.reaches("outbound", "read", contact=contact)
    await shared.report(external_id, "delivered", recipient_id=contact)
    await shared.report(external_id, "sent", recipient_id=contact)
    assert await shared.states("outbound", contact) == ["read"]

    other = f"{contact}1"
    request = await answered(shared, shared_graph, other)
    errors = [{"code": 131026, "title": "Undeliverable"}]
    await shared.report(str(request.external_id), "failed", recipient_id=other, errors=errors)
    [failed] = await shared.reaches("outbound", "failed", contact=other)
    assert failed["fault"]["code"] == "131026"
    await shared.report(str(request.external_id), "delivered", recipient_id=other)
    await shared.reaches("outbound", "delivered", contact=other)


async def test_5_contacts_may_lack_what_they_usually_have(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[5] Without contacts, without wa_id, without from: a message is stored as long as anybody sent it."""
    user = f"BR.{contact}"
    nameless = shared.message("oi", contact=contact)
    hidden = shared.message("olá", from_=None, from_user_id=user)

    assert await shared.deliver(nameless) == 200
    assert await shared.deliver(hidden, contacts=[{"user_id": user, "profile": {"name": "Ana"}}]) == 200

    await shared.reaches("outbound", "sent", contact=contact)
    await shared.reaches("outbound", "sent", contact=user)
    [request] = [request for request in shared_graph.messages if request.body.get("recipient") == user]
    assert "to" not in request.body


async def test_6_odd_types_are_stored_and_run_the_agent_only_for_words(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[6] An interactive without its key, a reaction without emoji and a new type are told apart and kept."""
    bare = shared.message(None, contact=contact, type="interactive")
    reaction = shared.message(
        None, contact=contact, type="reaction", reaction={"message_id": "wamid.EXAMPLE.OUT.0001"}
    )
    new = shared.message(None, contact=contact, type="totally_new", totally_new={"x": 1})

    assert await shared.deliver(bare, reaction, new, errors=[{"code": 131000, "title": "odd"}]) == 200
    await shared.say("oi", contact=contact)

    await shared.reaches("outbound", "sent", contact=contact)
    kinds = {item["type"]: item["state"] for item in await shared.timeline(contact, kind="inbound")}
    assert set(kinds) == {"interactive", "reaction", "totally_new", "text"}
    assert kinds["reaction"] == "recorded"


async def test_7_a_forwarded_message_has_a_context_without_id(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[7] Forwarded is no reply to anything."""
    forwarded = shared.message("veja", contact=contact, context={"forwarded": True})

    assert await shared.deliver(forwarded) == 200

    await shared.reaches("outbound", "sent", contact=contact)
    assert [request.text for request in sent_to(shared_graph, contact)] == ["veja"]


async def test_10_twelve_and_thirteen_digits_are_one_contact(
    shared: Door, shared_graph: LoopbackGraph
) -> None:
    """[10] Sent to thirteen digits, answered as twelve, written from twelve: one conversation."""
    long, short = "5511987650001", "551187650001"
    shared_graph.script(long, Accept(wa_id=short))
    await answered(shared, shared_graph, long)

    await shared.say("sou eu", contact=short)

    await shared.reaches("outbound", "sent", "sent", contact=long)
    assert await shared.states("inbound", short) == ["answered", "answered"]
    [by_long], [by_short] = await shared.conversations(long), await shared.conversations(short)
    assert by_long["id"] == by_short["id"]


async def test_10_a_wa_id_of_another_number_is_learned_as_an_alias(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[10] Whatever the channel calls the contact it sent to, their next message is theirs."""
    other = f"5219{contact[4:]}"
    shared_graph.script(contact, Accept(wa_id=other))
    await answered(shared, shared_graph, contact)

    await shared.say("sou eu", contact=other)

    await shared.reaches("outbound", "sent", "sent", contact=contact)
    assert (await shared.conversations(contact))[0]["id"] == (await shared.conversations(other))[0]["id"]


async def test_11_a_closed_window_parks_at_once(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[11] 131047 as the answer: parked for a template, not tried again, the customer's own number goes on."""
    shared_graph.script(contact, Refuse(code=131047))

    await shared.say("oi", contact=contact)

    [parked] = await shared.reaches("outbound", "parked", contact=contact)
    assert (parked["reason"], parked["fault"]["code"]) == ("needs_template", "131047")
    assert parked["attempt_count"] == 1


async def test_11_a_closed_window_told_later_parks_too(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[11] 131047 in a status after the 200: the accepted message is parked, never sent again by itself."""
    request = await answered(shared, shared_graph, contact)
    errors = [{"code": 131047, "title": "Re-engagement message"}]

    await shared.report(str(request.external_id), "failed", recipient_id=contact, errors=errors)

    [parked] = await shared.reaches("outbound", "parked", contact=contact)
    assert (parked["reason"], parked["fault"]["code"]) == ("needs_template", "131047")
    assert len(sent_to(shared_graph, contact)) == 1


async def test_12_a_pair_limit_holds_its_conversation_only(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[12] 131056: this lane waits and is tried again, all others flow, nothing is sent twice."""
    shared_graph.script(contact, Refuse(code=131056, http_status=429), Refuse(code=131056, http_status=429))
    others = [f"{contact}{digit}" for digit in range(1, 4)]

    await shared.say("oi", contact=contact)

    async def refused() -> bool:
        return len([r for r in shared_graph.requests if r.address == contact]) == 2

    # The first wait is a second, the next four: the others leave in between.
    await eventually(refused, "the pair was slowed down twice")
    for other in others:
        await answered(shared, shared_graph, other)
    assert sent_to(shared_graph, contact) == []
    [sent] = await shared.reaches("outbound", "sent", contact=contact)
    assert sent["attempt_count"] == 3
    assert len(sent_to(shared_graph, contact)) == 1


async def test_13_a_lost_answer_is_settled_by_the_correlation_id(
    shared: Door, shared_graph: LoopbackGraph, contact: str
) -> None:
    """[13] The message was accepted and the answer lost: the status with our id makes it sent, not sent again."""
    shared_graph.script(contact, DropRead(accepted=True))
    await shared.say("oi", contact=contact)
    [uncertain] = await shared.reaches("outbound", "uncertain", contact=contact)
    [request] = sent_to(shared_graph, contact)
    assert request.correlation_id == f"{uncertain['id']}.1"
    assert len(str(request.correlation_id)) <= 512

    await shared.report(
        str(request.external_id),
        "sent",
        recipient_id=contact,
        biz_opaque_callback_data=request.correlation_id,
    )

    [sent] = await shared.reaches("outbound", "sent", contact=contact)
    assert sent["external_id"] == request.external_id
    assert len(sent_to(shared_graph, contact)) == 1


async def test_a_webhook_is_routed_by_the_number_inside(place: Place) -> None:
    """A body for the second number, posted at the first one's URL, belongs to the second."""
    _, door = await place.serve({}, channels=2)
    body = json.loads(envelope({"messages": [door.message("oi")]}))
    value = body["entry"][0]["changes"][0]["value"]
    value["metadata"]["phone_number_id"] = "100000000000002"

    assert (await door.post(json.dumps(body).encode())).status_code == 200

    await door.reaches("outbound", "sent")
    assert [conversation["channel"] for conversation in await door.conversations()] == ["loja2"]
    assert "/100000000000002/messages" in place.graph.messages[0].path
