"""A turn that dies in the middle of a write, a takeover during one, and when the customer counts as told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from onevoice import WriteRefused
from onevoice.flow.authority.decide import Command
from onevoice.flow.effect.perform import authorise, authorise_outside, finish
from onevoice.flow.gate.decide import Failure
from onevoice.flow.proposal.perform import ask, suggest
from onevoice.flow.suggestion.perform import claim_drafts
from onevoice.flow.turn.decide import Turn
from onevoice.flow.turn.perform import abandon_drained
from onevoice.ports.channel import OutcomeUnknown
from onevoice.ports.writes import WriteCall
from onevoice.store.database import Database
from onevoice.testing import Gate
from onevoice.vocabulary import EffectId, EffectState, TurnContext, TurnState
from tests.perform.clinic import Diary, count, employ, told, write_states
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection

FRIDAY = WriteCall(tool="book", args={"day": "sexta"})


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"agent": {"timeout_seconds": 0.2}}


async def claimed(stage: Stage, text: str = "sexta") -> Turn:
    await stage.customer(text)
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    return turn


async def started(stage: Stage, turn: Turn, call: WriteCall = FRIDAY) -> EffectId:
    """A write that has begun, as by a process that dies before its result."""
    asked = await authorise(stage.runtime, turn.id, call, account=turn.conversation.account)
    assert asked.state is EffectState.STARTED
    assert asked.effect is not None
    return asked.effect


async def done(stage: Stage, turn: Turn) -> EffectId:
    effect = await started(stage, turn)
    await finish(stage.runtime, turn.conversation.account, effect, state=EffectState.DONE, result="booked")
    return effect


async def reason(stage: Stage) -> str | None:
    conversation = await stage.conversation()
    return conversation["authority_reason"]


async def test_killed_between_effect_and_result_goes_to_a_human(stage: Stage) -> None:
    """The booking may exist: it is never repeated, not even after the human has given the conversation back."""
    diary = Diary()
    turn = await claimed(stage)
    effect = await started(stage, turn)
    await stage.after(31.0)

    assert await stage.states("turn") == ["abandoned: lease_lost"]
    assert (await stage.authority())[0] == "HANDOFF_PENDING"
    assert await reason(stage) == "effect_outcome_unknown"
    assert [row["kind"] for row in await stage.rows("notification")] == ["handoff"]
    assert "book" in str((await stage.conversation())["authority_note"])

    async def again(context: TurnContext) -> str:
        assert [known.state for known in context.effects] == [EffectState.STARTED]
        with pytest.raises(WriteRefused, match="outcome_unknown"):
            await diary.book("sexta")
        return "Marcado!"

    employ(stage, again)
    await stage.command(Command.RELEASE, await stage.operator("bia"))
    await stage.after(5.0)

    assert diary.booked == []
    assert stage.sent == []
    assert await reason(stage) == "effect_outcome_unknown"
    assert [row["authority_state"] for row in await stage.rows("conversation")] == ["HANDOFF_PENDING"]
    await finish(stage.runtime, turn.conversation.account, effect, state=EffectState.DONE, result="booked")
    assert await write_states(stage) == [("book", "done", None), ("book", "refused", "outcome_unknown")]


async def test_a_write_that_is_safe_to_repeat_is_repeated(stage: Stage) -> None:
    """No handoff: the next turn calls again, under the same effect, and its result is the effect's."""
    diary = Diary()
    turn = await claimed(stage)
    effect = await started(stage, turn, WriteCall(tool="confirm", args={"day": "sexta"}, retry_safe=True))

    async def again(_: TurnContext) -> str:
        return await diary.confirm("sexta")

    employ(stage, again)
    await stage.after(31.0)
    await stage.after(5.0)

    assert await stage.states("turn") == ["abandoned: lease_lost", "sealed: answered"]
    assert diary.booked == ["sexta"]
    assert stage.sent == ["confirmed sexta"]
    assert [row["id"] for row in await stage.rows("effect")] == [effect]
    assert await write_states(stage) == [("confirm", "done", None)]


async def test_a_drained_process_hands_over_what_it_had_begun(stage: Stage) -> None:
    """A process that stops in the middle of a write leaves a question for a human; others just start again."""
    turn = await claimed(stage)
    await started(stage, turn)
    await abandon_drained(stage.runtime, [turn])

    assert await stage.states("turn") == ["abandoned: drain"]
    assert await reason(stage) == "effect_outcome_unknown"


async def test_a_turn_cut_by_its_deadline_leaves_the_write_unknown(stage: Stage) -> None:
    """The tool was called and never came back."""
    diary = Diary()
    diary.door = Gate()

    async def hang(_: TurnContext) -> str:
        return await diary.book("sexta")

    employ(stage, hang)
    turn = await claimed(stage)
    verdict = await stage.answer(turn)

    assert verdict.reason == "agent_timeout"
    assert await write_states(stage) == [("book", "started", None)]
    assert await reason(stage) == "effect_outcome_unknown"


async def test_a_turn_cut_before_the_tool_was_called_leaves_no_doubt(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate had said yes, the call had not begun: it is known not to have happened."""
    diary, asked = Diary(), Gate()

    async def slow_authorise(*args: Any, **fields: Any) -> Any:
        await asked.pass_through()
        return await authorise(*args, **fields)

    monkeypatch.setattr("onevoice.flow.effect.gate.authorise", slow_authorise)

    async def book(_: TurnContext) -> str:
        return await diary.book("sexta")

    employ(stage, book)
    turn = await claimed(stage)
    asking = asyncio.create_task(ask(stage.runtime, turn))
    await asked.reached()
    assert stage.runtime.begun_writes.has_begun_write(turn.id)
    asking.cancel()
    asked.open()
    await asyncio.wait([asking])

    assert asking.cancelled()
    assert diary.booked == []
    assert await write_states(stage) == [("book", "failed", "not_begun")]
    assert not stage.runtime.begun_writes.has_begun_write(turn.id)


async def test_while_a_write_runs_its_turn_is_known_to_have_begun(stage: Stage) -> None:
    """Nobody cuts an agent call in the middle of a write."""
    diary = Diary()
    diary.door = Gate()

    async def book(_: TurnContext) -> str:
        return await diary.book("sexta")

    employ(stage, book)
    turn = await claimed(stage)
    begun = stage.runtime.begun_writes
    assert not begun.has_begun_write(turn.id)
    answering = asyncio.create_task(stage.answer(turn))
    await diary.door.reached()
    assert begun.has_begun_write(turn.id)
    diary.door.open()
    await answering
    assert not begun.has_begun_write(turn.id)


async def test_a_write_that_is_still_open_when_its_turn_answers_is_no_handoff(stage: Stage) -> None:
    """Only a dead turn's is: a remote agent may finish later than it answers."""
    turn = await claimed(stage)
    effect = await started(stage, turn)
    await stage.answer(turn)
    await stage.run()

    assert (await stage.authority())[0] == "AI_ACTIVE"
    assert stage.sent == ["Certo!"]
    assert await told(stage) == [False]
    await finish(stage.runtime, turn.conversation.account, effect, state=EffectState.DONE, result=None)
    assert await told(stage) == [True]


async def test_a_takeover_during_a_write_is_pending_until_it_is_finished(stage: Stage) -> None:
    """Whoever finishes the last write confirms it (I1)."""
    turn = await claimed(stage)
    effect = await started(stage, turn)
    view = await stage.command(Command.TAKE, await stage.operator("bia"))
    await stage.after(10.0)

    assert view.state == "HANDOFF_PENDING"
    assert (await stage.authority())[0] == "HANDOFF_PENDING"
    await finish(stage.runtime, turn.conversation.account, effect, state=EffectState.DONE, result="booked")
    assert await stage.authority() == ("HUMAN_ACTIVE", 3)
    assert await stage.states("turn") == ["obsolete: authority_revoked"]


async def test_a_takeover_during_a_lost_write_is_confirmed_in_the_end(stage: Stage) -> None:
    """Deadline and quarantine over, the sweep gives the write up for unknown."""
    await started(stage, await claimed(stage))
    await stage.command(Command.TAKE, await stage.operator("bia"))
    await stage.after(39.0)
    assert (await stage.authority())[0] == "HANDOFF_PENDING"
    await stage.after(2.0)

    assert (await stage.authority())[0] == "HUMAN_ACTIVE"


async def test_a_refused_write_does_not_hold_up_a_takeover(stage: Stage) -> None:
    """What never began is not in flight."""
    turn = await claimed(stage)
    await stage.customer("sábado")
    refused = await authorise(stage.runtime, turn.id, FRIDAY, account=turn.conversation.account)
    view = await stage.command(Command.TAKE, await stage.operator("bia"))

    assert refused.reason == "newer_message"
    assert view.state == "HUMAN_ACTIVE"


async def test_an_operators_message_tells_of_what_began_before_it(stage: Stage) -> None:
    """A human has it in view and answers: the next turn of the AI has nothing to tell."""
    turn = await claimed(stage)
    await started(stage, turn)
    await abandon_drained(stage.runtime, [turn])
    bia = await stage.operator("bia")
    await stage.command(Command.TAKE, bia)
    await stage.after(41.0)
    assert await told(stage) == [False]
    await stage.reply(bia, "Olhei aqui: sua consulta está marcada.")
    await stage.run()
    assert await told(stage) == [True]
    agent = employ(stage)
    await stage.command(Command.RELEASE, bia)
    await stage.customer("obrigada")
    await stage.after(5.0)

    assert agent.contexts[0].effects == ()


async def test_a_reply_of_an_earlier_turn_does_not_tell_of_a_later_one(stage: Stage) -> None:
    """Its words were sealed before the booking."""
    hanging = stage.channel.script(held=True)
    await stage.answer(await claimed(stage, "oi"))
    sending = asyncio.create_task(stage.send())
    await hanging.reached()
    later = await claimed(stage, "sexta")
    await done(stage, later)
    hanging.open()
    await sending

    assert stage.sent == ["Certo!"]
    assert await told(stage) == [False]
    await stage.answer(later)
    await stage.run()
    assert await told(stage) == [True]


async def test_a_status_that_proves_the_reply_was_accepted_tells(stage: Stage) -> None:
    """The customer knows by the channel's word, too, when the sender never heard the answer."""
    turn = await claimed(stage)
    await done(stage, turn)
    await stage.answer(turn)
    stage.channel.script(OutcomeUnknown(reason="time_out"), seen=True)
    await stage.run()
    assert await told(stage) == [False]
    correlation_id = stage.channel.deliveries[0].correlation_id
    await stage.webhook({"id": "w1", "status": "delivered", "correlation_id": correlation_id})

    assert await told(stage) == [True]


async def test_automation_outside_a_turn_has_the_same_fence(stage: Stage) -> None:
    """Under the version it read, once; after a transition no more, and it is nothing to tell the customer."""
    await stage.customer("oi")
    await stage.after(5.0)
    key = await stage.key()
    first = await authorise_outside(stage.runtime, key, FRIDAY, authority_version=1)
    assert first.effect is not None
    await finish(stage.runtime, key.account, first.effect, state=EffectState.DONE, result="noted")
    again = await authorise_outside(stage.runtime, key, FRIDAY, authority_version=1)
    agent = employ(stage)
    turn = await claimed(stage, "sexta")
    own = await authorise(stage.runtime, turn.id, FRIDAY, account=key.account)
    await stage.answer(turn)
    await stage.command(Command.TAKE, await stage.operator("bia"))
    late = await authorise_outside(stage.runtime, key, FRIDAY, authority_version=1)

    assert (first.state, again.state, again.result) == (EffectState.STARTED, EffectState.DONE, "noted")
    assert own.state is EffectState.STARTED
    assert [known.state for known in agent.contexts[0].effects] == [EffectState.STARTED]
    assert (late.state, late.reason) == (EffectState.REFUSED, "authority_revoked")
    assert count(stage, "stale_blocked", at="effect") == 1


async def test_an_agent_that_ignores_a_refusal_is_not_believed(stage: Stage) -> None:
    """Even when the customer has waited so long that nothing else would be discarded, and after a takeover's end."""
    turn = await claimed(stage)
    await stage.customer("não, sábado")
    refused = await authorise(stage.runtime, turn.id, FRIDAY, account=turn.conversation.account)
    assert refused.reason == "newer_message"
    await stage.clock.advance(20.0)
    verdict = await stage.answer(turn)

    assert (verdict.state, verdict.reason) == (TurnState.DISCARDED, "newer_message")
    await stage.run()
    assert stage.sent == ["Certo!"]
    assert len(stage.agent.contexts[1].messages) == 2


async def test_a_suggestion_never_writes(database: Database, owner: Connection) -> None:
    """While a human has the conversation the agent may think aloud, and its tools are refused."""
    stage = Stage(database, owner, {"agent": {"suggest_to_operators": True}})
    diary = Diary()

    async def book(_: TurnContext) -> str:
        return await diary.book("sexta")

    employ(stage, book)
    await stage.customer("sexta")
    await stage.command(Command.TAKE, await stage.operator("bia"))
    await stage.customer("alô?")
    await stage.clock.advance(5.0)
    drafts = await claim_drafts(stage.runtime, limit=10)
    answers = [await suggest(stage.runtime, draft) for draft in drafts]

    assert [answer.reason for answer in answers if isinstance(answer, Failure)] == ["write_turn_over"]
    assert diary.booked == []
    assert await write_states(stage) == []


async def test_takeovers_and_writes_never_cross(stage: Stage) -> None:
    """Whichever comes first under the lock: a write that begins delays the take, one that comes after is refused."""
    bia = await stage.operator("bia")
    outcomes: set[tuple[str, str]] = set()
    for round_number in range(12):
        turn = await claimed(stage, f"sexta {round_number}")
        call = WriteCall(tool="book", args={"round": round_number})
        asking = authorise(stage.runtime, turn.id, call, account=turn.conversation.account)
        taking = stage.command(Command.TAKE, bia)
        both = (asking, taking) if round_number % 2 else (taking, asking)
        first, second = await asyncio.gather(*both)
        asked, view = (first, second) if round_number % 2 else (second, first)
        outcomes.add((asked.state, view.state))  # type: ignore[union-attr]
        if asked.effect is not None and asked.state is EffectState.STARTED:  # type: ignore[union-attr]
            effect = asked.effect  # type: ignore[union-attr]
            await finish(
                stage.runtime, turn.conversation.account, effect, state=EffectState.DONE, result=None
            )
        assert (await stage.authority())[0] == "HUMAN_ACTIVE"
        await stage.command(Command.RELEASE, bia)
        await stage.after(10.0)

    assert outcomes <= {("started", "HANDOFF_PENDING"), ("refused", "HUMAN_ACTIVE")}
    assert len(outcomes) == 2


async def test_a_write_that_has_begun_keeps_its_reply_from_being_discarded(stage: Stage) -> None:
    """Finished or not, it may have happened; what automation does outside a turn is nothing to tell."""
    await stage.customer("oi")
    await stage.after(5.0)
    key = await stage.key()
    outside = await authorise_outside(stage.runtime, key, FRIDAY, authority_version=1)
    assert outside.state is EffectState.STARTED
    first = await claimed(stage, "sexta")
    await stage.customer("sábado")
    discarded = await stage.answer(first)
    await stage.clock.advance(5.0)
    (second,) = await stage.claim()
    await started(stage, second)
    await stage.customer("domingo")
    sealed = await stage.answer(second)

    assert discarded.reason == "newer_message"
    assert sealed.state is TurnState.SEALED
