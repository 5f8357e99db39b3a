"""Many tasks at once on the real database, as several processes would run them: the invariants hold at the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.sweep.perform import sweep
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.perform import claim, renew
from onevoice.testing import CountingChance
from tests.perform.stage import Stage

CUSTOMERS, MESSAGES = 6, 8


class _Process:
    """One process's loops, each turn of which is one task."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.runtime: Runtime = replace(
            stage.runtime, chance=CountingChance(series=number), worker=f"process {number}"
        )
        self.intake = Intake(self.runtime)
        self.stage = stage

    async def work(self) -> int:
        turns = await claim(self.runtime, limit=3)
        if turns:
            await renew(self.runtime, turns)
            settled = [prepare(self.runtime, turn, await ask(self.runtime, turn)) for turn in turns]
            await settle(self.runtime, settled)
        return len(turns)

    async def triage(self) -> int:
        asked = await claim_triage(self.runtime, limit=3)
        await asyncio.gather(*(conclude(self.runtime, question) for question in asked))
        return len(asked)

    async def send(self) -> int:
        begun = await begin_sends(self.runtime, limit=3)
        finished = [
            Finished(begun=attempt, outcome=await self.stage.channel.deliver(attempt.delivery))
            for attempt in begun
        ]
        if finished:
            await finish_sends(self.runtime, finished)
        return len(begun)

    async def sweep(self) -> int:
        await sweep(self.runtime)
        return 0


async def _write(process: _Process, stage: Stage, number: int) -> None:
    customer = f"c{number % CUSTOMERS}"
    items = stage.channel.parse(
        stage.channel.webhook({"id": f"m{number}", "from": customer, "text": f"{number}"}).body
    )
    await process.intake.take(stage.channel, items)


@pytest.mark.parametrize(
    "settings",
    [
        {"turns": {"debounce_seconds": 0.0, "while_running": policy}, "outbox": {"hold_seconds": hold}}
        for policy, hold in (
            ("enqueue", 0.0),
            ("discard_unless_wrote", 0.0),
            ("triage", 0.0),
            ("discard_unless_wrote", 0.2),
        )
    ],
    ids=["enqueue", "discard", "triage", "held"],
)
async def test_three_processes_over_the_same_customers(stage: Stage) -> None:
    """No message lost, no two turns at once, every answer once; each webhook comes to every process."""
    processes = [_Process(stage, number) for number in (1, 2, 3)]
    writes = [
        _write(process, stage, number) for number in range(CUSTOMERS * MESSAGES) for process in processes[:2]
    ]
    steps = [
        step for process in processes for step in (process.work, process.send, process.triage, process.sweep)
    ]
    waves = [writes[start : start + 24] for start in range(0, len(writes), 24)]
    for wave in waves:
        await asyncio.gather(*wave, *(step() for step in steps))
        await stage.clock.advance(0.1)
    moved = 1
    while moved:
        moved = sum(await asyncio.gather(*(step() for step in steps)))
        await stage.clock.advance(0.3)
        moved += len(await stage.owner.fetch("select from outbound_message where state = 'due'"))

    messages = await stage.rows("inbound_message", "external_id, state, state_reason, conversation_id")
    assert len(messages) == CUSTOMERS * MESSAGES
    assert {row["state"] for row in messages} <= {"answered", "cancelled"}
    assert len({row["conversation_id"] for row in messages}) == CUSTOMERS
    sent = Counter(delivery.key for delivery in stage.channel.sent)
    assert set(sent.values()) == {1}
    turns = await stage.rows("turn", "id, state, message_ids")
    answered = Counter(message for row in turns if row["state"] == "sealed" for message in row["message_ids"])
    dropped = {
        row["turn_id"]
        for row in await stage.rows("outbound_message", "turn_id, state")
        if row["state"] in ("superseded", "cancelled")
    }
    if not dropped:
        assert set(answered.values()) == {1}
        assert len(answered) == CUSTOMERS * MESSAGES


async def test_only_one_of_many_claims_a_turn(stage: Stage) -> None:
    """The row lock and the unique key allow one running turn (I4)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    runtimes = [replace(stage.runtime, chance=CountingChance(series=n)) for n in range(1, 8)]

    claimed = [
        turn for turns in await asyncio.gather(*(claim(r, limit=10) for r in runtimes)) for turn in turns
    ]

    assert len(claimed) == 1
    await stage.answer(claimed[0])
    begun = await asyncio.gather(*(begin_sends(runtime, limit=10) for runtime in runtimes))
    assert sum(len(found) for found in begun) == 1
    (only,) = [attempt for found in begun for attempt in found]
    await finish_sends(
        stage.runtime, [Finished(begun=only, outcome=await stage.channel.deliver(only.delivery))]
    )


async def test_leases_are_renewed_while_turns_settle(stage: Stage) -> None:
    """Neither waits for the other's turns: a deadlock would lose the verdict of a whole batch."""
    for number in range(12):
        await stage.customer("oi", **{"from": f"c{number}"})
    await stage.clock.advance(5.0)
    turns = await stage.claim()
    settled = [prepare(stage.runtime, turn, await ask(stage.runtime, turn)) for turn in reversed(turns)]

    results = await asyncio.gather(
        *(renew(stage.runtime, turns if n % 2 else turns[::-1]) for n in range(6)),
        settle(stage.runtime, settled[:6]),
        settle(stage.runtime, settled[6:]),
    )

    assert len(results) == 8
    assert await renew(stage.runtime, turns) == set()
    await stage.run()
    assert len(stage.sent) == 12


async def test_a_message_that_arrives_while_its_turn_is_claimed_is_in_it_or_in_the_next(stage: Stage) -> None:
    """What is read after the lock was committed before it; what comes later sets the timer again."""
    for round_number in range(10):
        await stage.customer("oi")
        await stage.clock.advance(5.0)
        turns, _ = await asyncio.gather(stage.claim(), stage.customer("mais"))
        for turn in turns:
            await stage.answer(turn)
        await stage.after(5.0)
        await stage.after(5.0)
        messages = await stage.states("inbound_message")
        assert messages == ["answered: sealed"] * (2 * round_number + 2)
