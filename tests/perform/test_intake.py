"""The inbound door: one conversation for one customer, nothing refused, nothing at another's expense, order kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from onevoice.flow.inbound.intake import Intake
from onevoice.flow.inbound.perform import Received
from onevoice.ports.channel import ContactRef, ItemKind, MessageItem
from tests.perform.stage import Stage


async def test_the_messages_of_one_webhook_keep_their_order(stage: Stage) -> None:
    """Platforms give ids in no order; the burst is read as the customer wrote it."""
    texts = ["oi", "queria marcar", "pra sexta", "de manhã se tiver"]
    await stage.webhook(
        *(
            {"id": external_id, "from": "ana", "text": text}
            for external_id, text in zip("zbya", texts, strict=True)
        )
    )
    await stage.after(5.0)

    assert [message.text for message in stage.agent.contexts[0].messages] == texts


async def test_webhooks_that_share_a_commit_keep_their_order(stage: Stage) -> None:
    """The same for many webhooks at once: the batch is theirs, the order the door's."""
    texts = [str(number) for number in range(20)]
    await asyncio.gather(
        *(
            stage.webhook({"id": f"{97 * n % 20:02}", "from": "ana", "text": text})
            for n, text in enumerate(texts)
        )
    )
    await stage.after(5.0)

    assert [message.text for message in stage.agent.contexts[0].messages] == texts


async def test_twenty_deliveries_of_one_message_at_once_count_once(stage: Stage) -> None:
    """In two processes; exactly one is told that it was new (I3)."""
    doors = [stage.intake, Intake(stage.runtime)]
    item = stage.channel.parse(stage.channel.webhook({"id": "m1", "from": "ana", "text": "oi"}).body)

    results = await asyncio.gather(*(doors[n % 2].take(stage.channel, item) for n in range(20)))

    assert sum(found[0].is_new for found in results) == 1
    assert len({found[0].conversation for found in results}) == 1
    assert (await stage.conversation())["arrival_count"] == 1
    assert stage.count("inbound", channel="loja", outcome="accepted") == 1
    assert stage.count("inbound", channel="loja", outcome="duplicate") == 19
    assert stage.count("duplicates_intercepted", kind="inbound") == 19
    await stage.after(5.0)
    assert stage.sent == ["Certo!"]


async def test_an_unknown_item_is_kept_once(stage: Stage) -> None:
    """Stored as it came, once per content; it starts nothing."""
    for _ in range(2):
        await stage.webhook({"no": "id"})
    await stage.intake.take(stage.channel, stage.channel.parse(b'{"odd": 1}'))

    kept = await stage.rows("unknown_event", "reason, raw")
    assert sorted((row["reason"], row["raw"]) for row in kept) == [
        ("no_id", b'{"no": "id"}'),
        ("no_items", b'{"odd": 1}'),
    ]
    assert await stage.rows("conversation") == []


def _item(number: int, text: str, *, address: str = "ana", **fields: Any) -> MessageItem:
    contact = ContactRef(address=address, key=address, aliases=(address,))
    plain: dict[str, Any] = {
        "external_id": f"m{number}",
        "contact": contact,
        "kind": ItemKind.ARRIVAL,
        "type": "text",
        "text": text,
        "raw": json.dumps({"n": number}).encode(),
    }
    return MessageItem(**(plain | fields))


@pytest.mark.parametrize("poison", ["nul \x00 inside", "half a pair \ud83d"])
async def test_what_the_database_refuses_is_kept_raw_and_fails_alone(stage: Stage, poison: str) -> None:
    """The other items of the batch are stored, and the webhook is answered."""
    received = await stage.intake.take(
        stage.channel, [_item(1, "antes"), _item(2, poison), _item(3, "depois")]
    )
    await stage.after(5.0)

    assert [found.is_new for found in received] == [True, True]
    assert [message.text for message in stage.agent.contexts[0].messages] == ["antes", "depois"]
    (kept,) = await stage.rows("unknown_event", "reason, raw")
    assert (kept["reason"], kept["raw"]) == ("refused_by_database", b'{"n": 2}')


async def test_a_poisoned_webhook_does_not_fail_its_neighbours(stage: Stage) -> None:
    """Webhooks of other customers that share the commit are answered as if it had not been there."""
    results: Sequence[Sequence[Received]] = await asyncio.gather(
        *(
            stage.intake.take(stage.channel, [_item(n, "\x00" if n == 3 else "oi", address=f"c{n}")])
            for n in range(8)
        )
    )

    assert [len(found) for found in results] == [1, 1, 1, 0, 1, 1, 1, 1]
    assert len(await stage.rows("conversation")) == 7


async def test_an_item_for_a_number_that_nobody_has_is_kept(stage: Stage) -> None:
    """A webhook is routed by the number inside it; an unknown one is no reason to refuse the rest."""
    stage.channel.route = "100"
    received = await stage.intake.take(
        stage.channel, [_item(1, "oi", route="100"), _item(2, "oi", route="999"), _item(3, "oi")]
    )

    assert len(received) == 2
    assert [row["reason"] for row in await stage.rows("unknown_event")] == ["route_unknown"]


async def test_nothing_is_lost_when_nobody_is_nudged(stage: Stage) -> None:
    """The rows themselves say what is due."""
    await stage.customer("oi")
    assert (await stage.conversation())["turn_due_at"] is not None
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]


async def test_a_name_and_an_address_learned_later_are_kept(stage: Stage) -> None:
    """A webhook without a name does not forget it."""
    await stage.customer("oi", name="Ana")
    await stage.customer("oi")

    assert (await stage.conversation())["contact_name"] == "Ana"
