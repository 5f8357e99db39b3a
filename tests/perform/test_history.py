"""What the agent is shown: what the customer saw, in the order in which it was said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from onevoice.ports.channel import Accepted, OutcomeUnknown
from onevoice.vocabulary import OutgoingMessage, Proposal, TriageDecision
from tests.perform.stage import Stage


def _history(stage: Stage, call: int = -1) -> list[tuple[str, str, str | None]]:
    return [(item.role, item.text, item.state) for item in stage.agent.contexts[call].history]


async def test_a_talk_in_the_order_in_which_it_was_said(stage: Stage) -> None:
    """The burst itself is no history."""
    for number in (1, 2, 3):
        stage.agent.script(f"resposta {number}")
        await stage.clock.advance(1.0)
        await stage.customer(f"pergunta {number}")
        await stage.after(5.0)

    assert _history(stage) == [
        ("customer", "pergunta 1", None),
        ("assistant", "resposta 1", None),
        ("customer", "pergunta 2", None),
        ("assistant", "resposta 2", None),
    ]


@pytest.mark.parametrize(
    "settings", [{"turns": {"debounce_seconds": 0.0}, "outbox": {"part_interval_seconds": 0.0}}]
)
async def test_within_one_instant_the_customer_spoke_first_and_parts_keep_their_order(stage: Stage) -> None:
    """Time alone does not tell question from answer."""
    stage.agent.script(
        Proposal(messages=tuple(OutgoingMessage(text=text) for text in ("um", "dois", "três")))
    )
    await stage.customer("oi")
    await stage.run()
    await stage.customer("e agora?")
    await stage.run()

    assert [text for _, text, _ in _history(stage)] == ["oi", "um", "dois", "três"]


async def test_a_clock_that_is_set_back_does_not_turn_the_customers_words_round(stage: Stage) -> None:
    """Their order is the one in which they were taken."""
    for text in ("A", "B", "C"):
        await stage.customer(text)
        stage.clock.jump(-1.9)
    await stage.after(8.0)
    await stage.customer("e agora?")
    await stage.after(5.0)

    assert [text for _, text, _ in _history(stage)] == ["A", "B", "C", "Certo!"]


async def test_a_reply_that_the_channel_dates_before_its_question_still_follows_it(stage: Stage) -> None:
    """The channel has a clock of its own; only the business's phone is dated by nothing else."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await stage.begin()
    early = (stage.clock.now() - timedelta(seconds=8)).isoformat()
    await stage.status("w1", "sent", correlation_id=begun.delivery.correlation_id, at=early)
    await stage.customer("e agora?")
    await stage.after(5.0)

    assert (await stage.rows("outbound_message"))[0]["sent_at"].isoformat() == early
    assert [text for _, text, _ in _history(stage)] == ["oi", "Certo!"]


@pytest.mark.parametrize("settings", [{"outbox": {"hold_seconds": 2.0}}])
@pytest.mark.parametrize(
    ("decision", "history"),
    [
        (TriageDecision.RELEASE_FIRST, [("customer", "A", None), ("assistant", "resposta", "on_its_way")]),
        (TriageDecision.CANCEL_FIRST, [("customer", "A", None)]),
        (TriageDecision.MERGE, []),
    ],
)
async def test_a_reply_nobody_saw_is_not_shown(
    stage: Stage, decision: TriageDecision, history: list[tuple[str, str, str | None]]
) -> None:
    """Cancelled and superseded ones never; a released one that has not left is marked."""
    stage.agent.script("resposta")
    stage.decider.script(decision)
    await stage.customer("A")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await stage.customer("B")
    await stage.owner.execute("update outbound_message set due_at = due_at + interval '1 minute'")
    await stage.triage()
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)

    assert _history(stage) == history


async def test_an_uncertain_reply_is_marked(stage: Stage) -> None:
    """The customer may have seen it."""
    stage.channel.script(OutcomeUnknown(reason="timeout"), seen=True)
    await stage.customer("A")
    await stage.after(5.0)
    await stage.customer("B")
    await stage.after(5.0)

    assert _history(stage) == [("customer", "A", None), ("assistant", "Certo!", "uncertain")]


async def test_a_reply_on_the_wire_is_on_its_way(stage: Stage) -> None:
    """It has begun and nobody knows more."""
    await stage.customer("A")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (begun,) = await stage.begin()
    await stage.customer("B")
    await stage.after(5.0)

    assert _history(stage) == [("customer", "A", None), ("assistant", "Certo!", "on_its_way")]
    await stage.finish(begun, Accepted(external_id="w1"))


@pytest.mark.parametrize("settings", [{"agent": {"history_messages": 3}}])
async def test_only_so_much_of_the_past(stage: Stage) -> None:
    """The newest of it."""
    for number in (1, 2, 3):
        stage.agent.script(f"resposta {number}")
        await stage.clock.advance(1.0)
        await stage.customer(f"pergunta {number}")
        await stage.after(5.0)

    assert [text for _, text, _ in _history(stage)] == ["resposta 1", "pergunta 2", "resposta 2"]


async def test_what_was_withdrawn_or_only_recorded_is_not_shown(stage: Stage) -> None:
    """A revoked message and a reaction are no part of the talk."""
    await stage.customer("A")
    await stage.customer("errei")
    await stage.customer("", kind="revoke", target="m2", id="x1")
    await stage.customer("👍", kind="record", type="reaction", id="x2")
    await stage.after(5.0)
    await stage.customer("B")
    await stage.after(5.0)

    assert _history(stage) == [("customer", "A", None), ("assistant", "Certo!", None)]
