"""Two contacts that turn out to be one become one conversation."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.flow.authority.command import give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.inbound.intake import Intake
from onevoice.ports.channel import ContactRef, EchoItem
from onevoice.vocabulary import AccountId, ChannelName
from tests.perform.stage import AUTOMATION, Stage


class Shop:
    """A WhatsApp number on the stage; ``write`` is a customer known by phone, by business-scoped id, or by both."""

    def __init__(self, stage: Stage) -> None:
        self.channel = WhatsAppChannel(
            name=ChannelName("loja"),
            account=AccountId("default"),
            phone_number_id="100000000000001",
            access_token="t",
            app_secrets=("s",),
            verify_token="v",
            graph_url="http://127.0.0.1:1",
            http=httpx2.AsyncClient(),
            files=httpx2.AsyncClient(),
            monotonic=stage.clock.monotonic,
        )
        self.intake = Intake(stage.runtime)
        self._count = 0

    async def write(self, text: str, *, phone: str | None = None, user_id: str | None = None) -> Any:
        self._count += 1
        contact: dict[str, Any] = {"profile": {"name": "Ana"}}
        message: dict[str, Any] = {
            "id": f"wamid.{self._count}",
            "timestamp": "1796040000",
            "type": "text",
            "text": {"body": text},
        }
        if phone:
            contact["wa_id"] = message["from"] = phone
        if user_id:
            contact["user_id"] = message["from_user_id"] = user_id
        value = {
            "metadata": {"phone_number_id": "100000000000001"},
            "contacts": [contact],
            "messages": [message],
        }
        body = {
            "object": "whatsapp_business_account",
            "entry": [{"changes": [{"field": "messages", "value": value}]}],
        }
        items = self.channel.parse(json.dumps(body).encode())
        return (await self.intake.take(self.channel, items))[0]


@pytest.fixture
def shop(stage: Stage) -> Shop:
    return Shop(stage)


async def test_the_ninth_digit_makes_no_second_contact(stage: Stage, shop: Shop) -> None:
    """Thirteen and twelve digits are one customer; the reply goes to the exact id that wrote last."""
    first = await shop.write("oi", phone="5511999990000")
    second = await shop.write("tudo bem?", phone="551199990000")

    assert first.conversation == second.conversation
    assert (await stage.conversation())["contact_address"] == "551199990000"


async def test_an_id_that_comes_with_a_known_phone_is_learned(stage: Stage, shop: Shop) -> None:
    """Later messages that hide the phone still reach the same conversation and keep its address."""
    first = await shop.write("oi", phone="5511999990000", user_id="BR.1")
    later = await shop.write("sou eu", user_id="BR.1")

    assert first.conversation == later.conversation
    assert (await stage.conversation())["contact_address"] == "5511999990000"


async def test_two_contacts_become_one_when_one_message_names_both(stage: Stage, shop: Shop) -> None:
    """Everything open is answered in one turn of the conversation that goes on."""
    by_phone = await shop.write("oi", phone="5511999990000")
    by_id = await shop.write("quero marcar", user_id="BR.1")
    both = await shop.write("sou a mesma", phone="5511999990000", user_id="BR.1")
    await stage.after(20.0)
    rows = {row["id"]: row for row in await stage.rows("conversation")}

    assert both.conversation == by_phone.conversation
    assert rows[by_id.conversation.id]["merged_into"] == by_phone.conversation.id
    assert [message.text for message in stage.agent.contexts[0].messages] == [
        "oi",
        "quero marcar",
        "sou a mesma",
    ]
    assert rows[by_phone.conversation.id]["authority_version"] == 2


async def test_a_merge_takes_the_stricter_authority(stage: Stage, shop: Shop) -> None:
    """A human who held one of the two holds the one that is left."""
    await shop.write("oi", phone="5511999990000")
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await shop.write("quero marcar", user_id="BR.1")
    await shop.write("sou a mesma", phone="5511999990000", user_id="BR.1")
    await stage.after(20.0)
    kept = next(row for row in await stage.rows("conversation") if row["merged_into"] is None)

    assert (kept["authority_state"], kept["authority_owner"]) == ("HUMAN_ACTIVE", bia.operator)
    assert stage.agent.contexts == []


@pytest.mark.parametrize("settings", [{"handoff": {"idle_return_seconds": 600.0}}])
async def test_a_merge_keeps_what_is_held_by_hand(stage: Stage, shop: Shop) -> None:
    """No idle time ends it, whichever of the two the operator had taken."""
    await shop.write("oi", phone="5511999990000")
    taken = await shop.write("quero marcar", user_id="BR.1")
    bia = await stage.operator("bia")
    await give_command(stage.runtime, taken.conversation, Command.TAKE, actor=bia, hold=True)
    await shop.write("sou a mesma", phone="5511999990000", user_id="BR.1")
    await stage.after(700.0)
    kept = next(row for row in await stage.rows("conversation") if row["merged_into"] is None)

    assert kept["id"] != taken.conversation.id
    assert (kept["authority_state"], kept["authority_owner"]) == ("HUMAN_ACTIVE", bia.operator)


async def test_a_merge_remembers_the_later_release(stage: Stage, shop: Shop) -> None:
    """What the business wrote from its phone before a human gave the conversation back is history."""
    await shop.write("oi", phone="5511999990000")
    released = (await shop.write("quero marcar", user_id="BR.1")).conversation
    written_at = stage.clock.now()
    await stage.clock.advance(5.0)
    for command in (Command.REQUEST_HANDOFF, Command.RELEASE):
        await give_command(stage.runtime, released, command, actor=AUTOMATION)
    await shop.write("sou a mesma", phone="5511999990000", user_id="BR.1")
    aliases = tuple(row["alias"] for row in await stage.rows("contact_alias"))
    contact = ContactRef(address="5511999990000", key=aliases[0], aliases=aliases, name="Ana")
    echo = EchoItem(external_id="e1", contact=contact, type="text", text="oi", raw=b"{}", sent_at=written_at)
    await stage.intake.take(shop.channel, [echo])
    kept = next(row for row in await stage.rows("conversation") if row["merged_into"] is None)

    assert kept["authority_state"] == "AI_ACTIVE"
    assert [row["outcome"] for row in await stage.rows("device_echo")] == ["history"]
