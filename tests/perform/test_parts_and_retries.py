"""Messages leave in order, at their pace, and are tried again only when nothing of them was accepted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from onevoice.ports.channel import Accepted, NotSent, OutcomeUnknown, Refused, StatusItem
from onevoice.testing import RecordingChannel
from onevoice.vocabulary import ErrorAction, OutboundState, OutgoingMessage, Proposal, StopAi
from tests.decide.facts import error
from tests.perform.stage import Stage

THREE = Proposal(messages=tuple(OutgoingMessage(text=text) for text in ("um", "dois", "três")))


async def _seal(stage: Stage, answer: Proposal | str = "Certo!", *, customer: str = "ana") -> None:
    """A question whose answer is sealed and due."""
    stage.agent.script(answer)
    await stage.customer("oi", **{"from": customer})
    await stage.clock.advance(5.0)
    for turn in await stage.claim():
        await stage.answer(turn)


def refused(action: ErrorAction, **facts: object) -> Refused:
    return Refused(error=error(action, **facts))


async def test_parts_leave_in_order_at_their_interval(stage: Stage) -> None:
    """1.2 s between the parts of one reply, each a message of its own."""
    await _seal(stage, THREE)
    left: list[tuple[float, str]] = []
    for _ in range(40):
        await stage.send()
        left += [(stage.clock.monotonic() - 5.0, text) for text in stage.sent[len(left) :]]
        await stage.clock.advance(0.1)

    assert [text for _, text in left] == ["um", "dois", "três"]
    assert [moment for moment, _ in left] == pytest.approx([0.0, 1.2, 2.4], abs=0.11)
    rows = await stage.rows("outbound_message")
    assert [(row["part"], row["part_count"]) for row in rows] == [(1, 3), (2, 3), (3, 3)]
    assert len({row["key"] for row in rows}) == 3


async def test_a_channel_whose_clock_is_ahead_does_not_hold_the_next_part(stage: Stage) -> None:
    """A status may date a part an hour from now; the next one keeps its distance from when that was known."""
    await _seal(stage, THREE)
    (begun,) = await stage.begin()
    late = (stage.clock.now() + timedelta(hours=1)).isoformat()
    await stage.status("w1", "sent", correlation_id=begun.delivery.correlation_id, at=late)
    await stage.run()
    assert stage.sent == []
    await stage.after(1.2)

    assert stage.sent == ["dois"]


async def test_a_long_text_is_split_as_its_channel_can_carry(stage: Stage) -> None:
    """The parts are the channel's, the reply is one."""
    stage.channel = RecordingChannel("loja", clock=stage.clock, part_chars_max=3)
    stage.runtime.channels[stage.channel.name] = stage.channel  # type: ignore[index]
    await _seal(stage, "abcdefgh")
    await stage.play(4.0)

    assert stage.sent == ["abc", "def", "gh"]


async def test_a_failed_part_parks_the_later_ones(stage: Stage) -> None:
    """A reply that stopped in the middle does not go on with what follows the gap."""
    await _seal(stage, THREE)
    stage.channel.script(None)
    stage.channel.script(refused(ErrorAction.DROP))
    await stage.play(10.0)

    assert stage.sent == ["um"]
    assert await stage.states("outbound_message") == [
        "sent",
        "failed: channel_drop",
        "parked: earlier_part_failed",
    ]


async def test_a_part_that_failed_later_parks_the_ones_still_waiting(stage: Stage) -> None:
    """The channel's late word counts like an early one."""
    await _seal(stage, THREE)
    await stage.send()
    await stage.report(
        StatusItem(external_id="sent-1", status="failed", raw=b"{}", error=error(ErrorAction.DROP))
    )
    await stage.play(5.0)

    assert stage.sent == ["um"]
    assert await stage.states("outbound_message") == [
        "failed: channel_drop",
        "parked: earlier_part_failed",
        "parked: earlier_part_failed",
    ]


async def test_refusals_are_retried_with_back_off_then_parked(stage: Stage) -> None:
    """2, 4, 8 … s times the jitter; a message whose retries are over waits for a human."""
    await _seal(stage)
    for _ in range(9):
        stage.channel.script(refused(ErrorAction.RETRY, retries_max=3))
    tried: list[float] = []
    for _ in range(300):
        if await stage.send():
            tried.append(stage.clock.monotonic() - 5.0)
        await stage.clock.advance(0.1)

    assert tried == pytest.approx([0.0, 1.5, 4.5, 10.5], abs=0.11)
    assert await stage.states("outbound_message") == ["parked: retries_exhausted"]
    rows = await stage.rows("attempt", "attempt, outcome, error_code")
    assert [(row["attempt"], row["outcome"]) for row in rows] == [(n, "refused") for n in (1, 2, 3, 4)]
    assert {delivery.key for delivery in stage.channel.deliveries} == {
        (await stage.rows("outbound_message"))[0]["key"]
    }


async def test_a_message_that_never_left_is_tried_again(stage: Stage) -> None:
    """No connection is no answer: the same key, another attempt."""
    await _seal(stage)
    stage.channel.script(NotSent(reason="no_connection"))
    await stage.send()
    assert await stage.states("outbound_message") == ["due"]
    await stage.after(1.5)

    assert stage.sent == ["Certo!"]
    ids = [delivery.correlation_id for delivery in stage.channel.deliveries]
    assert [correlation.partition(".")[2] for correlation in ids] == ["1", "2"]


async def test_an_unknown_outcome_waits_then_parks(stage: Stage) -> None:
    """Never silently retried (I3): uncertain for 90 s, then a human decides."""
    await _seal(stage)
    stage.channel.script(OutcomeUnknown(reason="timeout"), seen=True)
    await stage.send()
    assert await stage.states("outbound_message") == ["uncertain: timeout"]
    await stage.play(90.0, step=10.0)
    await stage.after(1.0)

    assert await stage.states("outbound_message") == ["parked: outcome_unknown"]
    assert stage.sent == ["Certo!"]
    assert len(stage.channel.deliveries) == 1


@pytest.mark.parametrize("settings", [{"outbox": {"after_uncertain": "retry_once"}}])
async def test_where_chosen_an_unknown_outcome_is_retried_once(stage: Stage) -> None:
    """Once: the second unknown outcome parks it."""
    await _seal(stage)
    for _ in range(3):
        stage.channel.script(OutcomeUnknown(reason="timeout"), seen=False)
    await stage.send()
    await stage.after(91.0)
    assert len(stage.channel.deliveries) == 2
    await stage.after(91.0)

    assert await stage.states("outbound_message") == ["parked: outcome_unknown"]
    assert len(stage.channel.deliveries) == 2


async def test_uncertain_blocks_only_its_own_author(stage: Stage) -> None:
    """The next AI reply waits for the evidence; an operator's message does not."""
    await _seal(stage)
    stage.channel.script(OutcomeUnknown(reason="timeout"), seen=True)
    await stage.send()
    await _seal(stage, "segunda")
    assert await stage.begin() == []
    key = (await stage.conversation())["id"]
    await stage.owner.execute(
        """
        insert into outbound_message (account_id, id, conversation_id, channel, author, key, text, state,
            authority_version, sealed_at, due_at)
        values ('default', gen_random_uuid(), $1, 'loja', 'operator', 'op', 'sou eu', 'due', 1, $2, $2)""",
        key,
        stage.clock.now(),
    )
    await stage.owner.execute("update conversation set outbox_due_at = $1", stage.clock.now())
    await stage.send()
    assert stage.sent == ["Certo!", "sou eu"]

    await stage.status("sent-1", "delivered", correlation_id=stage.channel.deliveries[0].correlation_id)
    await stage.run()
    assert stage.sent == ["Certo!", "sou eu", "segunda"]


async def test_a_slowed_pair_holds_one_conversation_and_others_flow(stage: Stage) -> None:
    """131056: this customer waits 1, 4, 16 … s, everybody else as long as ever."""
    await _seal(stage, customer="ana")
    for _ in range(2):
        stage.channel.script(refused(ErrorAction.SLOW))
        await stage.send()
        await stage.clock.advance(1.0)
    assert (await stage.conversation())["pair_slow_count"] == 2
    stage.agent.script("Olá, Bia")
    await stage.customer("oi", **{"from": "bia"})
    await stage.run()
    assert stage.sent == []
    await stage.after(2.9)
    assert stage.sent == []
    await stage.after(0.2)
    assert stage.sent == ["Certo!"]
    await stage.after(2.0)

    assert stage.sent == ["Certo!", "Olá, Bia"]
    assert [talk["pair_slow_count"] for talk in await stage.rows("conversation")] == [0, 0]


async def test_a_slowed_channel_holds_all_of_its_conversations(stage: Stage) -> None:
    """A throughput error is about the number."""
    stage.channel.script(refused(ErrorAction.SLOW, slows_channel=True, retry_after_seconds=8.0))
    await _seal(stage, customer="ana")
    await stage.send()
    await _seal(stage, "Olá, Bia", customer="bia")
    await stage.run()
    assert stage.sent == []
    await stage.after(3.0)

    assert sorted(stage.sent) == ["Certo!", "Olá, Bia"]


async def test_an_error_can_stop_automation_in_its_conversation(stage: Stage) -> None:
    """A human is asked, with the channel's code in the note; the burst's turn is over."""
    stage.channel.script(refused(ErrorAction.DROP, code="131026", stop_ai=StopAi.CONVERSATION))
    await _seal(stage)
    await stage.send()

    talk = await stage.conversation()
    assert (talk["authority_state"], talk["authority_reason"]) == ("HANDOFF_PENDING", "delivery_failed")
    assert "131026" in talk["authority_note"]


async def test_two_errors_in_one_batch_stop_a_conversation_once(stage: Stage) -> None:
    """The second stop meets what the first has made, not what the batch had read."""
    await _seal(stage, THREE)
    await stage.play(3.0)
    stop = error(ErrorAction.DROP, stop_ai=StopAi.CONVERSATION)
    await stage.report(
        *(
            StatusItem(external_id=f"sent-{number}", status="failed", raw=b"%d" % number, error=stop)
            for number in (1, 2, 3)
        )
    )

    assert await stage.entries("authority") == [("HANDOFF_PENDING", "delivery_failed")]
    assert (await stage.conversation())["authority_version"] == 2


async def test_an_error_can_pause_the_channel_for_the_ai(stage: Stage) -> None:
    """The number's AI sends wait, those of other numbers do not, and nothing is lost when it is let go on."""
    other = RecordingChannel("filial", clock=stage.clock)
    stage.runtime.channels[other.name] = other  # type: ignore[index]
    await stage.register_channel(other)
    stage.channel.script(refused(ErrorAction.PARK, code="131031", stop_ai=StopAi.CHANNEL))
    await _seal(stage, customer="ana")
    await stage.send()
    await _seal(stage, "Olá, Bia", customer="bia")
    stage.agent.script("Olá, Caio")
    await stage.intake.take(
        other, other.parse(other.webhook({"id": "x1", "from": "caio", "text": "oi"}).body)
    )
    await stage.after(5.0)

    assert (stage.sent, other.sent_texts) == ([], ["Olá, Caio"])
    paused = await stage.rows("channel", "name, paused_reason")
    assert {row["name"]: row["paused_reason"] for row in paused} == {
        "loja": "channel_error_131031",
        "filial": None,
    }
    await stage.owner.execute("update channel set paused_reason = null, paused_at = null")
    await stage.after(31.0)
    assert stage.sent == ["Olá, Bia"]


@pytest.mark.parametrize(("burst", "expected"), [(2, ["um", "dois"]), (3, ["um", "dois", "três"])])
async def test_the_pair_credit_bounds_a_burst(stage: Stage, burst: int, expected: list[str]) -> None:
    """What is beyond the credit waits for one message's share of it to come back."""
    stage.channel.pair_burst, stage.channel.pair_seconds = burst, 60.0
    await _seal(stage, THREE)
    await stage.play(5.0)
    assert stage.sent == expected
    await stage.play(60.0, step=2.0)

    assert stage.sent == ["um", "dois", "três"]


async def test_two_lanes_never_block_each_other(stage: Stage) -> None:
    """A call that hangs holds its own conversation only."""
    await _seal(stage, customer="ana")
    (hanging,) = await stage.begin()
    await _seal(stage, "Olá, Bia", customer="bia")
    await stage.run()
    assert stage.sent == ["Olá, Bia"]

    assert await stage.finish(hanging, Accepted(external_id="late-1")) is OutboundState.SENT


async def test_a_removed_channel_parks_what_waits(stage: Stage) -> None:
    """Nobody will deliver it; an operator sees it."""
    await _seal(stage)
    del stage.runtime.channels[stage.channel.name]  # type: ignore[attr-defined]
    await stage.send()

    assert await stage.states("outbound_message") == ["parked: channel_removed"]
