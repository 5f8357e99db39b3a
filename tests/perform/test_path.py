"""From a burst to exactly one answer."""

from __future__ import annotations

from onevoice.flow.outbox.begin import begin_sends
from onevoice.vocabulary import TurnState
from tests.invariants import find_violations
from tests.perform.stage import Stage


async def test_four_fragments_get_one_answer_after_the_window(stage: Stage) -> None:
    """A burst is one agent call with one part per message, and one reply."""
    stage.agent.script("Sexta às 9h está livre.")
    for text in ("oi", "queria marcar", "pra sexta", "de manhã se tiver"):
        await stage.customer(text)
        await stage.after(1.0)
    assert stage.sent == []
    await stage.after(4.0)

    assert stage.sent == ["Sexta às 9h está livre."]
    assert [message.text for message in stage.agent.contexts[0].messages] == [
        "oi",
        "queria marcar",
        "pra sexta",
        "de manhã se tiver",
    ]
    assert await stage.states("inbound_message") == ["answered: sealed"] * 4
    assert await stage.states("outbound_message") == ["sent"]


async def test_a_customer_who_never_stops_is_answered_at_the_cap(stage: Stage) -> None:
    """The cap counts from the first open message (I6)."""
    await stage.customer("oi")
    for _ in range(9):
        await stage.after(2.0)
        await stage.customer("e mais uma coisa")
    assert stage.sent == []
    await stage.after(2.0)

    assert len(stage.agent.contexts) == 1
    assert len(stage.agent.contexts[0].messages) == 10
    assert stage.sent == ["Certo!"]


async def test_a_clock_that_jumps_back_does_not_lengthen_the_wait(stage: Stage) -> None:
    """The cap counts from the earliest instant any open message has, in whatever order they took the lock (I6)."""
    await stage.customer("oi")
    stage.clock.jump(-10.0)
    for _ in range(9):
        await stage.customer("e mais uma coisa")
        await stage.after(2.0)
    assert stage.sent == []
    assert await find_violations(stage.owner) == []
    await stage.customer("é isso")
    await stage.after(2.0)

    assert len(stage.agent.contexts[0].messages) == 11
    assert stage.sent == ["Certo!"]


async def test_the_same_webhook_twice_counts_once(stage: Stage) -> None:
    """One (channel, external id) is one message, for ever (I3)."""
    item = {"id": "m1", "from": "ana", "text": "oi"}
    first, again = await stage.webhook(item, item)
    later = (await stage.webhook(item))[0]
    await stage.after(5.0)

    assert (first.is_new, again.is_new, later.is_new) == (True, False, False)
    assert len(await stage.rows("inbound_message")) == 1
    assert stage.sent == ["Certo!"]


async def test_a_message_during_the_run_discards_and_answers_all_together(stage: Stage) -> None:
    """The default policy answers both messages in one reply while nothing was written."""
    await stage.customer("pode ser sexta")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.customer("ah, na verdade pode ser sábado")
    verdict = await stage.answer(turn)

    assert (verdict.state, verdict.reason) == (TurnState.DISCARDED, "newer_message")
    assert await stage.states("inbound_message") == ["open", "open"]
    await stage.after(5.0)
    assert stage.sent == ["Certo!"]
    assert len(stage.agent.contexts[1].messages) == 2


async def test_a_lost_attempt_is_made_again_where_that_does_no_harm(stage: Stage) -> None:
    """A channel that takes a key once has no unknown outcome: the sender's death costs a delay only (I3)."""
    stage.channel.is_idempotent = True
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await begin_sends(stage.runtime, limit=10)
    await stage.after(21.0)

    assert stage.sent == ["Certo!"]
    assert await stage.states("outbound_message") == ["sent"]
