"""One customer under several keys is one conversation: the ninth digit, and the business-scoped id."""

from __future__ import annotations

from typing import Any

from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.flow.inbound.perform import Received
from onevoice.ports.channel import Accepted
from onevoice.testing.manual_clock import START
from tests.perform.stage import Stage
from tests.wire.whatsapp.wire import CONTACT, ROUTE, envelope
from tests.wire.whatsapp.wire import message as recorded

BSUID = "BR.1000000000000000001"


def message(**changes: object) -> dict[str, object]:
    """Written now, so that the platform's window is open."""
    return recorded(timestamp=str(int(START.timestamp())), **changes)


async def _webhook(stage: Stage, *messages: Any, contacts: Any = None) -> list[Received]:
    """Envelopes as the platform sends them, read by the channel that ships."""
    stage.channel.route = ROUTE
    value: dict[str, object] = {"messages": list(messages)}
    if contacts is not None:
        value["contacts"] = contacts
    return await stage.intake.take(stage.channel, parse(envelope(value)))


async def test_with_and_without_the_ninth_digit_is_one_customer(stage: Stage) -> None:
    """A Brazilian mobile comes with 13 digits or with 12."""
    await _webhook(stage, message(id="a", from_="5511999990000"))
    await _webhook(stage, message(id="b", from_="551199990000"))
    await stage.after(5.0)

    assert len(await stage.rows("conversation")) == 1
    assert len(stage.agent.contexts[0].messages) == 2


async def test_a_business_scoped_id_is_learned_with_its_phone(stage: Stage) -> None:
    """Once both came together, either alone is the same customer; replies still go to the phone."""
    await _webhook(stage, message(id="a"), contacts=[CONTACT])
    await _webhook(stage, message(id="b", from_=None, from_user_id=BSUID))
    await stage.after(5.0)

    (talk,) = await stage.rows("conversation")
    assert talk["contact_address"] == "5511999990000"
    assert len(stage.agent.contexts[0].messages) == 2
    assert [sent.address for sent in stage.channel.sent] == ["5511999990000"]


async def test_a_phone_replaces_a_business_scoped_id_as_the_address(stage: Stage) -> None:
    """First only the scoped id was known; the phone came later."""
    await _webhook(stage, message(id="a", from_=None, from_user_id=BSUID))
    assert (await stage.conversation())["contact_address"] == BSUID
    await _webhook(stage, message(id="b"), contacts=[CONTACT])

    (talk,) = await stage.rows("conversation")
    assert talk["contact_address"] == "5511999990000"


async def test_an_alias_that_the_answer_taught_us_is_the_same_customer(stage: Stage) -> None:
    """The send went to one form, the channel answered with another, the customer writes from that one."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await stage.begin()
    await stage.finish(begun, Accepted(external_id="w1", aliases=("ana-12", "ana")))
    await stage.customer("oi de novo", **{"from": "ana-12"})

    assert len(await stage.rows("conversation")) == 1


async def test_a_malformed_item_does_not_hide_the_next(stage: Stage) -> None:
    """Two messages and a status in one body; the first is malformed, the others are processed."""
    stage.channel.route = ROUTE
    body = envelope(
        {
            "messages": [{"id": 7, "type": []}, message(id="b")],
            "statuses": [
                {"id": "w9", "status": "read", "timestamp": "1790000000", "recipient_id": "5511999990000"}
            ],
        }
    )
    received = await stage.intake.take(stage.channel, parse(body))

    assert [found.is_new for found in received] == [True]
    assert len(await stage.rows("unknown_event")) == 1
    assert [row["external_id"] for row in await stage.rows("orphan_status")] == ["w9"]


async def test_a_body_whose_keys_stand_in_another_order_is_the_same_message(stage: Stage) -> None:
    """The id decides, not the bytes."""
    first = message(id="a")
    again = dict(reversed(list(first.items())))
    assert (await _webhook(stage, first))[0].is_new
    assert not (await _webhook(stage, again))[0].is_new
