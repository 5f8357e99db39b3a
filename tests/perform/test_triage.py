"""A message arrives while a reply waits: each decision, what voids it, what needs none, and deciders that fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.flow.triage.perform import Asked, claim_triage, conclude
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import OutgoingMessage, Proposal, TriageDecision, TriageRequest
from tests.perform.stage import AUTOMATION, Stage

HELD = {"turns": {"debounce_seconds": 0.0}, "outbox": {"hold_seconds": 0.6}}
A, B = "Adiciona uma pizza de calabresa", "E uma Coca 2L também"


@pytest.fixture
def settings() -> dict[str, Any]:
    return HELD


async def _overtaken(stage: Stage, answer: Proposal | str = "resposta de A") -> None:
    """A's reply is held, B arrives 0.3 s after A."""
    stage.agent.script(answer)
    await stage.customer(A)
    await stage.run()
    await stage.clock.advance(0.3)
    await stage.customer(B)


async def _play(stage: Stage, seconds: float = 4.0) -> list[tuple[int, str]]:
    """What was sent, with milliseconds after A."""
    told: list[tuple[int, str]] = []
    for _ in range(round(seconds / 0.05)):
        await stage.run()
        told += [(round(stage.clock.monotonic() * 1000), text) for text in stage.sent[len(told) :]]
        await stage.clock.advance(0.05)
    return told


@pytest.mark.parametrize(
    ("decision", "told", "replies", "messages"),
    [
        (
            TriageDecision.RELEASE_FIRST,
            [(600, "resposta de A"), (900, "Certo!")],
            ["sent", "sent"],
            ["answered: sealed", "answered: sealed"],
        ),
        (
            TriageDecision.CANCEL_FIRST,
            [(900, "Certo!")],
            ["cancelled: cancelled", "sent"],
            ["cancelled: cancelled", "answered: sealed"],
        ),
        (
            TriageDecision.MERGE,
            [(900, "Certo!")],
            ["superseded: superseded", "sent"],
            ["answered: sealed", "answered: sealed"],
        ),
    ],
)
async def test_each_decision_at_its_time(
    stage: Stage,
    decision: TriageDecision,
    told: list[tuple[int, str]],
    replies: list[str],
    messages: list[str],
) -> None:
    """A answered at 600 ms and B at 900, or A never sent."""
    stage.decider.script(decision)
    await _overtaken(stage)

    assert await _play(stage) == told
    assert await stage.states("outbound_message") == replies
    assert await stage.states("inbound_message") == messages
    seen = [message.text for message in stage.agent.contexts[1].messages]
    assert seen == ([A, B] if decision is TriageDecision.MERGE else [B])
    assert stage.count("triage", decision=decision.value, decider="scripted") == 1
    state = replies[0].partition(":")[0]
    assert stage.count("outbound", author="ai", state=state) >= 1


async def test_a_decider_that_never_answers_parks_the_reply(stage: Stage) -> None:
    """Tries at 600, 900 and 1500 ms, parked at 2700; then B becomes a turn of its own."""
    for _ in range(20):
        stage.decider.script(RuntimeError("no idea"))
    await _overtaken(stage)

    told = await _play(stage, 5.0)

    assert [text for _, text in told] == ["Certo!"]
    assert told[0][0] == pytest.approx(3300, abs=51)
    assert await stage.states("outbound_message") == ["parked: triage_undecided", "sent"]
    assert await stage.states("inbound_message") == ["answered: sealed", "answered: sealed"]
    assert [m.text for m in stage.agent.contexts[1].messages] == [B]
    held = [reason for state, reason in await stage.entries("triage") if state == "held"]
    assert held == ["triage_undecided"] * 3
    rows = await stage.owner.fetch(
        "select at from journal where kind = 'triage' and state = 'held' order by id"
    )
    assert [round((row["at"] - START).total_seconds() * 1000) for row in rows] == [600, 900, 1500]
    (parked,) = await stage.owner.fetch("select at from journal where state = 'parked'")
    assert round((parked["at"] - START).total_seconds() * 1000) == 2700


class _Odd:
    """A decider that answers what no decider may."""

    name = "odd"

    async def decide(self, request: TriageRequest) -> TriageDecision:
        return "perhaps"  # type: ignore[return-value]

    async def close(self) -> None: ...


async def test_nonsense_is_no_decision(stage: Stage) -> None:
    """A word nobody knows counts as a failure of the decider."""
    stage.runtime = replace(stage.runtime, decider=_Odd())
    await _overtaken(stage)

    assert await stage.triage() == 1
    assert await stage.entries("triage") == [("undecided", "decider_failed")]


@pytest.mark.parametrize("settings", [HELD | {"triage": {"timeout_seconds": 0.05}}])
async def test_a_decider_that_hangs_is_bounded(stage: Stage) -> None:
    """The question ends at its time limit and comes back while the ladder lasts."""
    stage.decider.script(TriageDecision.MERGE, held=True)
    await _overtaken(stage)
    assert await stage.triage() == 1
    assert await stage.begin() == []
    await stage.clock.advance(0.3)
    assert await stage.triage() == 1

    assert [state for state, _ in await stage.entries("triage")] == ["undecided", "release_first"]


async def test_dying_in_the_middle_of_triage_changes_nothing(stage: Stage) -> None:
    """The question was taken and its process is gone: the ladder goes on, and another process asks."""
    await _overtaken(stage)
    (lost,) = await claim_triage(stage.runtime, limit=10)
    assert await claim_triage(stage.runtime, limit=10) == []
    stage.decider.script(TriageDecision.MERGE)

    await _play(stage, 4.0)

    assert stage.sent == ["Certo!"]
    states = await stage.states("outbound_message")
    assert states[0] in ("superseded: superseded", "parked: triage_undecided")
    assert await conclude(stage.runtime, lost) is None


async def test_a_newer_arrival_voids_a_decision_and_is_asked_again(stage: Stage) -> None:
    """A decision names the arrivals it read."""
    await _overtaken(stage)
    (asked,) = await claim_triage(stage.runtime, limit=10)
    await stage.customer("e um pudim")
    stage.decider.script(TriageDecision.CANCEL_FIRST)
    assert await conclude(stage.runtime, asked) is None
    assert await stage.states("outbound_message") == ["due"]
    stage.decider.script(TriageDecision.MERGE)
    await _play(stage)

    assert [len(request.newer) for request in stage.decider.requests] == [1, 2]
    assert await stage.entries("triage") == [("void", "newer_message"), ("merge", "merge")]
    assert [m.text for m in stage.agent.contexts[1].messages] == [A, B, "e um pudim"]


async def _ask_twice(stage: Stage) -> tuple[Asked, Asked]:
    (first,) = await claim_triage(stage.runtime, limit=10)
    await stage.owner.execute("update conversation set triage_due_at = $1", stage.clock.now())
    (second,) = await claim_triage(stage.runtime, limit=10)
    return first, second


async def test_of_two_answers_to_one_question_the_first_decides(stage: Stage) -> None:
    """A second process that asked about the same arrivals comes too late."""
    await _overtaken(stage)
    first, second = await _ask_twice(stage)
    stage.decider.script(TriageDecision.RELEASE_FIRST)
    stage.decider.script(TriageDecision.CANCEL_FIRST)
    assert await conclude(stage.runtime, first) is TriageDecision.RELEASE_FIRST
    assert await conclude(stage.runtime, second) is None

    assert await stage.states("outbound_message") == ["due"]
    assert [state for state, _ in await stage.entries("triage")] == ["release_first", "void"]


async def test_a_takeover_beats_a_decision(stage: Stage) -> None:
    """Authority beats all of it: what triage says of a revoked reply decides nothing."""
    await _overtaken(stage)
    (asked,) = await claim_triage(stage.runtime, limit=10)
    await stage.command(Command.REQUEST_HANDOFF, AUTOMATION)
    stage.decider.script(TriageDecision.RELEASE_FIRST)
    assert await conclude(stage.runtime, asked) is None
    await _play(stage)

    assert stage.sent == []
    assert await stage.states("outbound_message") == ["revoked: authority_revoked"]
    assert await stage.states("inbound_message") == ["open", "open"]
    assert ("void", "authority_revoked") in await stage.entries("triage")


async def test_a_begun_reply_is_released_without_asking(stage: Stage) -> None:
    """Its first part is out: the second follows, then B is answered."""
    await _overtaken(
        stage, Proposal(messages=(OutgoingMessage(text="parte 1"), OutgoingMessage(text="parte 2")))
    )
    await conclude(stage.runtime, (await claim_triage(stage.runtime, limit=10))[0])
    await stage.clock.advance(0.3)
    await stage.send()
    await stage.customer("e um pudim")
    requests = len(stage.decider.requests)
    told = await _play(stage)

    assert [text for _, text in told] == ["parte 2", "Certo!"] or stage.sent == [
        "parte 1",
        "parte 2",
        "Certo!",
    ]
    assert len(stage.decider.requests) == requests
    assert ("release_first", "already_begun") in await stage.entries("triage")


async def test_a_reply_that_tells_of_a_write_is_released_without_asking(stage: Stage) -> None:
    """What happened is told."""
    await _overtaken(stage, Proposal(messages=(OutgoingMessage(text="Marquei."),), wrote=True))

    assert [text for _, text in await _play(stage)] == ["Marquei.", "Certo!"]
    assert stage.decider.requests == []
    assert ("release_first", "tells_of_a_write") in await stage.entries("triage")


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (HELD | {"outbox": {"hold_seconds": 0.6, "while_held": "release"}}, ["resposta de A", "Certo!"]),
        (HELD | {"outbox": {"hold_seconds": 0.6, "while_held": "redo"}}, ["Certo!"]),
    ],
)
async def test_the_configuration_decides_without_asking(stage: Stage, sent: list[str]) -> None:
    """`release` and `redo`."""
    await _overtaken(stage)
    await _play(stage)

    assert stage.sent == sent
    assert stage.decider.requests == []


@pytest.mark.parametrize(
    "settings",
    [{"turns": {"debounce_seconds": 0.0, "max_wait_seconds": 2.0}, "outbox": {"hold_seconds": 1.5}}],
)
async def test_nobody_is_merged_for_ever(stage: Stage) -> None:
    """Once the first open message has waited so long, a merge becomes a release (I6)."""
    for _ in range(9):
        stage.decider.script(TriageDecision.MERGE)
    for number in range(6):
        await stage.customer(f"{number}")
        await stage.play(1.0)
    await stage.play(4.0)

    assert stage.sent[0] == "Certo!"
    assert ("release_first", "max_wait") in await stage.entries("triage")
    (row, *_) = await stage.owner.fetch(
        "select sent_at from outbound_message where sent_at is not null order by seq"
    )
    assert (row["sent_at"] - START).total_seconds() <= 2.0 + 1.5 + 1.0


async def test_an_arrival_between_sealing_and_sending_is_never_slipped_past(stage: Stage) -> None:
    """The hold is derived from the rows: *begin send* itself refuses, with or without a triage worker."""
    await _overtaken(stage)
    for _ in range(4):
        await stage.clock.advance(0.2)
        assert await stage.begin() == []

    assert stage.channel.deliveries == []
