"""Write tools pass the gate: before a correction they are refused, after one they are told, twice they run once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from onevoice import WriteRefused
from onevoice.errors import EffectSettled, EffectUnknown, WriteArgumentsInvalid, WriteBlocksLoop
from onevoice.flow.authority.decide import Command
from onevoice.flow.effect.perform import authorise, finish
from onevoice.ports.writes import WriteCall
from onevoice.testing import Gate
from onevoice.vocabulary import (
    AccountId,
    EffectId,
    EffectState,
    HandoffRequest,
    Proposal,
    TurnContext,
    TurnState,
)
from onevoice.write_tools import writes
from tests.perform.clinic import Diary, count, employ, told, write_states
from tests.perform.stage import Stage

FRIDAY = WriteCall(tool="book", args={"day": "sexta"})


@pytest.fixture
def diary() -> Diary:
    return Diary()


def booking(diary: Diary, day: str = "sexta") -> Callable[[TurnContext], Awaitable[str]]:
    async def answer(_: TurnContext) -> str:
        await diary.book(day)
        return f"Marcado: {day}."

    return answer


async def test_a_write_is_done_told_and_over(stage: Stage, diary: Diary) -> None:
    """The booking is an effect with its result; once the reply was sent the customer knows of it."""
    agent = employ(stage, booking(diary))
    await stage.customer("sexta, por favor")
    await stage.after(5.0)
    effect = (await stage.rows("effect"))[0]
    await stage.customer("obrigada")
    await stage.after(5.0)

    assert diary.booked == ["sexta"]
    assert (effect["tool"], effect["state"], effect["result"]) == ("book", "done", '"booked sexta"')
    assert effect["args"] == '{"day": "sexta"}'
    assert effect["turn_id"] == agent.contexts[0].turn_id
    assert effect["told_at"] is not None
    assert (await stage.rows("turn"))[0]["wrote"] is True
    assert (await stage.rows("outbound_message"))[0]["wrote"] is True
    assert agent.contexts[1].effects == ()
    assert stage.sent == ["Marcado: sexta.", "Certo!"]
    journal = await stage.owner.fetch("select state, data from journal where kind = 'effect' order by id")
    assert [row["state"] for row in journal] == ["started", "done"]
    assert "sexta" not in str(journal)


async def test_a_correction_before_the_write_is_not_booked(stage: Stage, diary: Diary) -> None:
    """Nothing is booked, whatever the agent makes of the refusal; one turn answers both messages."""
    thinking = Gate()

    async def swallow(_: TurnContext) -> str:
        await thinking.pass_through()
        with pytest.raises(WriteRefused, match="newer_message"):
            await diary.book("sexta")
        return "Marcado para sexta!"

    agent = employ(stage, swallow, booking(diary, "sábado"))
    await stage.customer("pode ser sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering = asyncio.create_task(stage.answer(turn))
    await thinking.reached()
    await stage.customer("ah, na verdade pode ser sábado")
    thinking.open()
    verdict = await answering
    failure_count = (await stage.conversation())["agent_failure_count"]
    await stage.after(5.0)

    assert (verdict.state, verdict.reason) == (TurnState.DISCARDED, "newer_message")
    assert failure_count == 0
    assert diary.booked == ["sábado"]
    assert stage.sent == ["Marcado: sábado."]
    assert len(agent.contexts[1].messages) == 2
    assert await write_states(stage) == [("book", "refused", "newer_message"), ("book", "done", None)]
    assert count(stage, "stale_blocked", at="effect") == 1


async def test_a_correction_after_the_write_is_answered_second(stage: Stage, diary: Diary) -> None:
    """A reply that tells of something that happened goes out, then the correction is answered."""
    booked = Gate()

    async def slow(_: TurnContext) -> str:
        await diary.book("sexta")
        await booked.pass_through()
        return "Marcado: sexta."

    employ(stage, slow)
    await stage.customer("pode ser sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering = asyncio.create_task(stage.answer(turn))
    await booked.reached()
    await stage.customer("ah, na verdade pode ser sábado")
    booked.open()
    verdict = await answering
    await stage.after(5.0)

    assert verdict.state is TurnState.SEALED
    assert stage.sent == ["Marcado: sexta.", "Certo!"]
    assert await told(stage) == [True]


async def test_after_a_failed_turn_the_equal_call_returns_the_result(stage: Stage, diary: Diary) -> None:
    """The next turn is told of the booking, and its equal call runs nothing."""
    results: list[str] = []

    async def crash(_: TurnContext) -> str:
        await diary.book("sexta")
        raise ConnectionError

    async def again(_: TurnContext) -> str:
        results.append(await diary.book("sexta"))
        return "Marcado: sexta."

    agent = employ(stage, crash, again)
    await stage.customer("sexta")
    await stage.after(5.0)
    await stage.after(2.0)

    (known,) = agent.contexts[1].effects
    assert (known.tool, known.args, known.state, known.result) == (
        "book",
        {"day": "sexta"},
        EffectState.DONE,
        "booked sexta",
    )
    assert results == ["booked sexta"]
    assert diary.booked == ["sexta"]
    assert count(stage, "duplicates_intercepted", kind="effect") == 1
    assert stage.sent == ["Marcado: sexta."]
    assert await told(stage) == [True]


async def test_an_untold_effect_keeps_the_next_turn_from_being_discarded(stage: Stage, diary: Diary) -> None:
    """The turn counts as wrote although it wrote nothing itself: somebody must tell the customer."""
    thinking = Gate()

    async def crash(_: TurnContext) -> str:
        await diary.book("sexta")
        raise ConnectionError

    async def tell(_: TurnContext) -> str:
        await thinking.pass_through()
        return "Sexta está marcada."

    employ(stage, crash, tell)
    await stage.customer("sexta")
    await stage.after(5.0)
    await stage.clock.advance(2.0)
    (turn,) = await stage.claim()
    answering = asyncio.create_task(stage.answer(turn))
    await thinking.reached()
    await stage.customer("alô?")
    thinking.open()

    assert (await answering).state is TurnState.SEALED


async def test_an_equal_call_of_a_later_wish_runs_again(stage: Stage, diary: Diary) -> None:
    """Once told, the same words are a new wish."""
    employ(stage, booking(diary), booking(diary))
    for _ in range(2):
        await stage.customer("sexta")
        await stage.after(5.0)

    assert diary.booked == ["sexta", "sexta"]


@pytest.mark.parametrize("settings", [{"turns": {"while_running": "discard"}}])
async def test_a_later_turn_tells_although_the_clock_was_set_back(stage: Stage, diary: Diary) -> None:
    """Which turn was the later one is no question of clocks: else an equal wish would be taken for the old one."""
    employ(stage, booking(diary))
    await stage.customer("sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.customer("alô?")
    assert (await stage.answer(turn)).state is TurnState.DISCARDED
    stage.clock.jump(-3600.0)
    await stage.customer("tudo bem?")
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]
    assert await told(stage) == [True]


async def test_a_failed_write_may_be_tried_again(stage: Stage, diary: Diary) -> None:
    """The tool's own error reaches the agent, and the key is free."""

    async def stumble(_: TurnContext) -> str:
        diary.breaks_with = ValueError("full")
        with pytest.raises(ValueError, match="full"):
            await diary.book("sexta")
        diary.breaks_with = None
        return await diary.book("sexta")

    employ(stage, stumble)
    await stage.customer("sexta")
    await stage.after(5.0)

    assert await write_states(stage) == [("book", "failed", "tool_failed"), ("book", "done", None)]
    assert stage.sent == ["booked sexta"]


async def test_twenty_equal_calls_at_once_run_once(stage: Stage, diary: Diary) -> None:
    """All of them get the one result."""

    async def many(_: TurnContext) -> str:
        results = await asyncio.gather(*(diary.book("sexta") for _ in range(20)))
        return f"{len(results)} {set(results)}"

    employ(stage, many)
    await stage.customer("sexta")
    await stage.after(5.0)

    assert diary.booked == ["sexta"]
    assert stage.sent == ["20 {'booked sexta'}"]
    assert count(stage, "duplicates_intercepted", kind="effect") == 19


async def test_twenty_equal_calls_from_outside_are_started_once(stage: Stage) -> None:
    """Whoever does not get the one yes is told not to do it."""
    await stage.customer("sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    account = turn.conversation.account
    answers = await asyncio.gather(
        *(authorise(stage.runtime, turn.id, FRIDAY, account=account) for _ in range(20))
    )

    states = [(answer.state, answer.reason) for answer in answers]
    assert states.count((EffectState.STARTED, None)) == 1
    assert states.count((EffectState.REFUSED, "outcome_unknown")) == 19


async def test_an_occurrence_makes_intended_equal_calls_two(stage: Stage) -> None:
    """Two pizzas are two pizzas where the tool says which is which."""
    added: list[str] = []

    @writes(occurrence=lambda item, line: str(line), leave_out=("line",))
    async def add(item: str, line: int) -> None:
        added.append(item)

    async def order(_: TurnContext) -> str:
        for line in (1, 2, 2):
            await add("pizza", line)
        return "Duas pizzas."

    employ(stage, order)
    await stage.customer("duas pizzas")
    await stage.after(5.0)

    assert added == ["pizza", "pizza"]


async def test_a_plain_function_in_a_thread_is_gated(stage: Stage) -> None:
    """Frameworks call plain tools in threads; their refusals and results are the same."""
    booked: list[str] = []

    @writes
    def book(day: str) -> dict[str, str]:
        booked.append(day)
        return {"day": day}

    async def answer(_: TurnContext) -> str:
        first, second = await asyncio.gather(*(asyncio.to_thread(book, "sexta") for _ in range(2)))
        return f"{first == second == {'day': 'sexta'}}"

    employ(stage, answer)
    await stage.customer("sexta")
    await stage.after(5.0)

    assert booked == ["sexta"]
    assert stage.sent == ["True"]
    assert await write_states(stage) == [("book", "done", None)]


async def test_a_plain_function_on_the_loop_is_told_to_be_async(stage: Stage) -> None:
    """Waiting there would stop the process; even swallowed, the error ends the turn and a human looks."""

    @writes
    def book(day: str) -> str:
        return day

    async def answer(_: TurnContext) -> str:
        with pytest.raises(WriteBlocksLoop, match="async def"):
            book("sexta")
        return "Marcado!"

    employ(stage, answer)
    await stage.customer("sexta")
    await stage.after(5.0)

    assert stage.sent == []
    assert (await stage.conversation())["authority_reason"] == "integration_failure"
    assert await write_states(stage) == []


async def test_a_tool_in_a_loop_of_its_own_is_gated(stage: Stage, diary: Diary) -> None:
    """Some frameworks run their own event loop in a thread."""

    async def answer(_: TurnContext) -> str:
        return await asyncio.to_thread(lambda: asyncio.run(_book_through(diary)))

    employ(stage, answer)
    await stage.customer("sexta")
    await stage.after(5.0)

    assert stage.sent == ["booked sexta"]
    assert await write_states(stage) == [("book", "done", None)]


async def _book_through(diary: Diary) -> str:
    return await diary.book("sexta")


async def test_a_write_of_a_turn_that_was_taken_over_is_refused(stage: Stage, diary: Diary) -> None:
    """The version moved while the agent thought: nothing is booked, and the recorded end stands."""
    thinking = Gate()
    refusals: list[str] = []

    async def answer(_: TurnContext) -> Proposal:
        await thinking.pass_through()
        try:
            await diary.book("sexta")
        except WriteRefused as refused:
            refusals.append(refused.reason)
        return Proposal(handoff=HandoffRequest(reason="customer_request"))

    employ(stage, answer)
    await stage.customer("sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    answering = asyncio.create_task(stage.answer(turn))
    await thinking.reached()
    await stage.command(Command.TAKE, await stage.operator("bia"))
    thinking.open()
    verdict = await answering

    assert refusals == ["authority_revoked"]
    assert (verdict.state, verdict.reason) == (TurnState.OBSOLETE, "authority_revoked")
    assert diary.booked == []
    assert (await stage.authority())[0] == "HUMAN_ACTIVE"


async def test_a_turn_that_is_over_writes_nothing(stage: Stage) -> None:
    """A worker that comes back late, or an agent that goes on after its answer, is told so."""
    await stage.customer("sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    late = await authorise(stage.runtime, turn.id, FRIDAY, account=turn.conversation.account)

    assert (late.state, late.reason, late.effect) == (EffectState.REFUSED, "turn_over", None)
    with pytest.raises(EffectUnknown):
        await authorise(stage.runtime, turn.id, FRIDAY, account=AccountId("other"))


async def test_an_outcome_is_recorded_once_and_however_late(stage: Stage) -> None:
    """The same report twice is one; another one is refused; the result is there for any retry."""
    await stage.customer("sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    account = turn.conversation.account
    asked = await authorise(stage.runtime, turn.id, FRIDAY, account=account)
    assert asked.effect is not None
    await stage.answer(turn)
    await stage.after(3600.0)
    for _ in range(2):
        await finish(stage.runtime, account, asked.effect, state=EffectState.DONE, result={"ok": True})
    with pytest.raises(EffectSettled, match="done already"):
        await finish(stage.runtime, account, asked.effect, state=EffectState.FAILED, result=None)
    with pytest.raises(EffectUnknown):
        await finish(stage.runtime, account, EffectId(turn.id), state=EffectState.DONE, result=None)
    with pytest.raises(WriteArgumentsInvalid):
        await finish(stage.runtime, account, asked.effect, state=EffectState.DONE, result="\x00")

    assert await write_states(stage) == [("book", "done", None)]
    # The turn's reply was sent before: the customer has heard of it.
    assert await told(stage) == [True]
