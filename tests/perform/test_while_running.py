"""A message arrives while the agent works: each policy, the cap on discards, and the bounds of a burst."""

from __future__ import annotations

import pytest

from onevoice.vocabulary import HandoffRequest, OutgoingMessage, Proposal, TriageDecision, TurnState
from tests.perform.stage import Stage


def says(text: str, *, wrote: bool = False) -> Proposal:
    return Proposal(messages=(OutgoingMessage(text=text),), wrote=wrote)


async def _overtake(stage: Stage, answer: Proposal) -> TurnState:
    """A is claimed; B arrives during the call."""
    stage.agent.script(answer)
    await stage.customer("pode ser sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.customer("ah, na verdade pode ser sábado")
    return (await stage.answer(turn)).state


@pytest.mark.parametrize("settings", [{"turns": {"while_running": "enqueue"}}])
async def test_enqueue_sends_the_reply_then_answers_the_new_one(stage: Stage) -> None:
    """The reply goes out, and the next turn sees it as on its way."""
    assert await _overtake(stage, says("Sexta às 9h.")) is TurnState.SEALED
    await stage.run()
    assert stage.sent == ["Sexta às 9h."]
    await stage.after(5.0)

    assert stage.sent == ["Sexta às 9h.", "Certo!"]
    assert [m.text for m in stage.agent.contexts[1].messages] == ["ah, na verdade pode ser sábado"]
    assert stage.decider.requests == []


@pytest.mark.parametrize("wrote", [False, True])
@pytest.mark.parametrize("settings", [{"turns": {"while_running": "discard"}}])
async def test_discard_answers_all_together(stage: Stage, wrote: bool) -> None:
    """Even a reply that tells of a write is dropped, where the tenant chose so."""
    assert await _overtake(stage, says("Sexta às 9h.", wrote=wrote)) is TurnState.DISCARDED
    await stage.after(5.0)

    assert stage.sent == ["Certo!"]
    assert len(stage.agent.contexts[1].messages) == 2
    assert stage.count("work_invalidated", reason="newer_message") == 1
    assert stage.count("turns", verdict="discarded", reason="newer_message") == 1


async def test_a_reply_that_tells_of_a_write_goes_out(stage: Stage) -> None:
    """By default what happened is told before the newer message is answered."""
    assert await _overtake(stage, says("Marquei sexta às 9h.", wrote=True)) is TurnState.SEALED
    await stage.run()
    await stage.after(5.0)

    assert stage.sent == ["Marquei sexta às 9h.", "Certo!"]
    assert len(stage.agent.contexts[1].messages) == 1


@pytest.mark.parametrize("settings", [{"turns": {"while_running": "triage"}}])
@pytest.mark.parametrize(
    ("decision", "sent", "states"),
    [
        (TriageDecision.RELEASE_FIRST, ["Sexta às 9h.", "Certo!"], ["answered: sealed", "answered: sealed"]),
        (TriageDecision.CANCEL_FIRST, ["Certo!"], ["cancelled: cancelled", "answered: sealed"]),
        (TriageDecision.MERGE, ["Certo!"], ["answered: sealed", "answered: sealed"]),
    ],
)
async def test_triage_decides_over_the_finished_reply(
    stage: Stage, decision: TriageDecision, sent: list[str], states: list[str]
) -> None:
    """The reply is sealed with the arrivals it saw, and cannot leave before the decision."""
    stage.decider.script(decision)
    assert await _overtake(stage, says("Sexta às 9h.")) is TurnState.SEALED
    assert await stage.begin() == []
    await stage.run()
    await stage.after(5.0)

    assert stage.sent == sent
    assert await stage.states("inbound_message") == states
    (request,) = stage.decider.requests
    assert (request.overtaken, request.reply, request.newer) == (
        ("pode ser sexta",),
        ("Sexta às 9h.",),
        ("ah, na verdade pode ser sábado",),
    )


async def test_discards_end_at_the_cap(stage: Stage) -> None:
    """A customer who writes during every call is answered once the first message has waited so long (I6)."""
    call, debounce, max_wait = 2.0, 5.0, 20.0
    await stage.customer("oi")
    for _ in range(80):
        await stage.clock.advance(0.5)
        for turn in await stage.claim():
            await stage.clock.advance(call)
            await stage.customer("e mais uma coisa")
            await stage.answer(turn)
        await stage.send()
        if stage.sent:
            break

    discarded = [verdict for verdict in stage.verdicts if verdict.state is TurnState.DISCARDED]
    assert 1 <= len(discarded) <= 1 + (max_wait - debounce - call) / call
    assert stage.verdicts[len(discarded)].state is TurnState.SEALED
    assert stage.clock.monotonic() <= max_wait + 2 * call + 1
    assert stage.sent == ["Certo!"]


async def test_sixty_messages_are_two_turns(stage: Stage) -> None:
    """At most fifty in one turn, the rest in the next; none lost, none out of order."""
    for number in range(60):
        await stage.customer(f"{number}")
    await stage.after(5.0)

    first, second = stage.agent.contexts
    assert [m.text for m in first.messages] == [str(number) for number in range(50)]
    assert [m.text for m in second.messages] == [str(number) for number in range(50, 60)]
    assert stage.sent == ["Certo!", "Certo!"]
    assert set(await stage.states("inbound_message")) == {"answered: sealed"}
    assert stage.decider.requests == []


@pytest.mark.parametrize("settings", [{"turns": {"debounce_seconds": 0.0}}])
async def test_without_a_window_each_message_is_answered_at_once(stage: Stage) -> None:
    """``debounce_seconds = 0``."""
    for number in range(3):
        await stage.customer(f"{number}")
        await stage.run()

    assert [len(context.messages) for context in stage.agent.contexts] == [1, 1, 1]
    assert stage.sent == ["Certo!"] * 3
    assert stage.clock.monotonic() == 0.0


async def test_a_silent_agent_closes_the_burst_with_its_reason(stage: Stage) -> None:
    """Saying nothing on purpose is an end, not a loss (I2)."""
    stage.agent.script(Proposal(silence_reason="thanks_only"))
    await stage.customer("obrigada!")
    await stage.after(5.0)

    assert stage.sent == []
    assert await stage.states("turn") == ["silent: thanks_only"]
    assert await stage.states("inbound_message") == ["answered: silent"]
    assert (await stage.conversation())["turn_due_at"] is None


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_blank_reply_is_a_silence(stage: Stage, text: str) -> None:
    """A message without a part that could be sent must not count as an answer."""
    stage.agent.script(says(text))
    await stage.customer("oi")
    await stage.after(5.0)

    assert await stage.states("turn") == ["silent: blank_reply"]
    assert await stage.rows("outbound_message") == []


async def test_an_agent_that_hands_off_says_goodbye_and_nothing_more(stage: Stage) -> None:
    """The goodbye leaves under the new version, the messages stay open, nothing automatic follows."""
    stage.agent.script(
        Proposal(
            messages=(OutgoingMessage(text="Vou passar para uma colega."),),
            handoff=HandoffRequest(reason="customer_request", note="contrato", summary="quer cancelar"),
        )
    )
    await stage.customer("quero falar com alguém")
    await stage.after(5.0)
    await stage.customer("alô?")
    await stage.play(30.0, step=5.0)

    assert stage.sent == ["Vou passar para uma colega."]
    assert await stage.states("inbound_message") == ["open", "open"]
    assert await stage.states("turn") == ["handoff: customer_request"]
    talk = await stage.conversation()
    assert (talk["authority_state"], talk["authority_version"]) == ("HANDOFF_PENDING", 2)
    assert talk["authority_note"] == "contrato\nquer cancelar"
    assert (talk["turn_due_at"], talk["triage_due_at"]) == (None, None)
    assert len(stage.agent.contexts) == 1


async def test_a_handoff_without_words_sends_none(stage: Stage) -> None:
    """Only what the agent wrote is its goodbye."""
    stage.agent.script(Proposal(handoff=HandoffRequest(reason="low_confidence")))
    await stage.customer("oi")
    await stage.after(5.0)

    assert stage.sent == []
    assert await stage.entries("authority") == [("HANDOFF_PENDING", "low_confidence")]
