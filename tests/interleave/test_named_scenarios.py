# ruff: noqa: E501  # A table.
"""The orders of events that were named before any was searched for: each has its invariant and its test.

Most are told as stories in tests/perform; this table says which, fails when one goes away, and tells those that
are nowhere else.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from onevoice.flow.authority.decide import Command
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.sweep.perform import sweep
from onevoice.ports.channel import Accepted, OutcomeUnknown
from onevoice.store.database import Database
from onevoice.vocabulary import TurnState
from tests.architecture.project import ROOT
from tests.interleave.repertoire import BY_NAME
from tests.perform.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Connection

HERE = "interleave/test_named_scenarios.py"

# Scenario: its invariant, the file and the test that tells it, and the cast that plays it in every order.
SCENARIOS: dict[str, tuple[str, str, str, str | None]] = {
    "human takes before the turn starts":
        ("I1", "perform/test_takeover.py", "test_before_the_turn_starts_nothing_is_asked", "takeover"),
    "human takes during generation":
        ("I1 I7", "perform/test_takeover.py", "test_while_the_agent_works_its_reply_is_obsolete", "takeover"),
    "human takes after sealing, before sending":
        ("I1 I2", "perform/test_takeover.py", "test_a_sealed_reply_is_revoked_and_its_messages_are_open", "takeover"),
    "human takes during the channel call":
        ("I1", "perform/test_takeover.py", "test_during_the_channel_call_the_takeover_waits_for_its_outcome", "in flight"),
    "duplicate webhook on two workers":
        ("I3", "perform/test_intake.py", "test_twenty_deliveries_of_one_message_at_once_count_once", "duplicate webhook"),
    "channel confirmation times out and the retry starts":
        ("I3", HERE, "test_a_confirmation_that_comes_after_its_retry_has_begun", "channel answers"),
    "conversation returns to the AI while an old turn lives":
        ("I1 I7", "perform/test_takeover.py", "test_an_old_turn_does_not_come_back_to_life_after_the_return", "takeover"),
    "two operators at once":
        ("I1", "perform/test_takeover.py", "test_fifty_operators_take_at_once_and_one_gets_it", "two operators at once"),
    "restart between verdict and send":
        ("I2 I3", HERE, "test_another_process_sends_what_was_sealed", "takeover"),
    "lease expires while the worker is alive but slow":
        ("I4 I7", "perform/test_leases.py", "test_a_late_settle_changes_nothing_and_learns_the_recorded_end", "lease"),
    "message while the agent replies: enqueue":
        ("I2", "perform/test_while_running.py", "test_enqueue_sends_the_reply_then_answers_the_new_one", "burst enqueued"),
    "message while the agent replies: discard":
        ("I2 I7", "perform/test_while_running.py", "test_discard_answers_all_together", "burst"),
    "message while the agent replies: discard unless wrote":
        ("I2", "perform/test_while_running.py", "test_a_reply_that_tells_of_a_write_goes_out", "write tool"),
    "message while the agent replies: triage":
        ("I2", "perform/test_while_running.py", "test_triage_decides_over_the_finished_reply", "burst triaged"),
    "message while the reply is held: each decision":
        ("I2 I5", "perform/test_triage.py", "test_each_decision_at_its_time", "triage"),
    "triage never answers":
        ("I2 I6", "perform/test_triage.py", "test_a_decider_that_never_answers_parks_the_reply", "hold ladder"),
    "status before the send call returns":
        ("I3", "perform/test_evidence.py", "test_a_status_may_come_before_the_send_calls_answer", "channel answers"),
    "echo of our own send before its id is stored":
        ("I1", "perform/test_takeover.py", "test_an_echo_that_beats_our_own_answer_waits_for_its_id", "device reply"),
    "phone reply in mid-turn":
        ("I1 I7", HERE, "test_a_reply_from_the_phone_in_mid_turn", "device reply"),
    "handoff by the agent with a goodbye":
        ("I1 I3", "perform/test_takeover.py", "test_the_agents_goodbye_leaves_with_the_handoff", "goodbye"),
    "release with open and with already answered messages":
        ("I2 I3", "perform/test_takeover.py", "test_after_release_only_what_is_open_becomes_a_turn", "two operators"),
    "edit before and after the claim":
        ("I2", "perform/test_amendments.py", "test_an_edit_during_the_turn_overtakes_its_reply", "edit and revoke"),
    "revoke before and after the claim":
        ("I2", "perform/test_amendments.py", "test_a_revoke_during_the_turn_ends_it_without_a_reply", "edit and revoke"),
    "audio transcribed late":
        ("I2", "perform/test_transcription.py", "test_late_words_during_the_turn_are_not_ignored", "heard late"),
    "audio never transcribed":
        ("I2 I6", "perform/test_transcription.py",
         "test_a_transcriber_that_is_down_is_a_marked_part_after_the_deadline", "voice note"),
    "reused idempotency key":
        ("I3", "perform/test_takeover.py", "test_the_same_key_is_the_same_message", "operator repeats"),
    "write tool with lost result":
        ("I3", "perform/test_lost_writes.py", "test_killed_between_effect_and_result_goes_to_a_human", "write tool"),
}  # fmt: skip


@pytest.fixture
async def stage(database: Database, owner: Connection) -> Stage:
    return Stage(database, owner, {})


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_named_scenario_has_its_story_and_its_cast(scenario: str) -> None:
    """The test it names exists, and so does the cast that plays it in every order."""
    _, file, name, cast = SCENARIOS[scenario]
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    told = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}

    assert name in told
    assert cast is None or cast in BY_NAME


async def test_a_confirmation_that_comes_after_its_retry_has_begun(
    database: Database, owner: Connection
) -> None:
    """The first attempt's late yes is recorded, and the second, on the wire, ends by its own outcome (I3)."""
    stage = Stage(database, owner, {"outbox": {"after_uncertain": "retry_once"}})
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (first,) = await begin_sends(stage.runtime, limit=1)
    await finish_sends(stage.runtime, [Finished(begun=first, outcome=OutcomeUnknown(reason="timeout"))])
    await stage.clock.advance(91.0)
    await sweep(stage.runtime)
    (second,) = await begin_sends(stage.runtime, limit=1)
    await finish_sends(stage.runtime, [Finished(begun=first, outcome=Accepted(external_id="x1"))])
    during = await stage.states("outbound_message")
    await finish_sends(stage.runtime, [Finished(begun=second, outcome=OutcomeUnknown(reason="timeout"))])
    await stage.after(600.0)

    assert during == ["sending"]
    assert [row["outcome"] for row in await stage.rows("attempt", "attempt, outcome")] == [
        "accepted",
        "unknown",
    ]
    assert len(await stage.rows("outbound_message")) == 1


async def test_another_process_sends_what_was_sealed(stage: Stage) -> None:
    """Killed after the verdict's commit: nothing is asked again, the sealed reply leaves once (I2, I3)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await stage.after(60.0)

    assert len(stage.agent.contexts) == 1
    assert stage.sent == ["Certo!"]
    assert await stage.states("inbound_message") == ["answered: sealed"]


async def test_a_reply_from_the_phone_in_mid_turn(stage: Stage) -> None:
    """The business speaks from its own phone while the agent works: the AI's answer is stale, not broken (I1, I7)."""
    await stage.customer("oi")
    await stage.clock.advance(5.0)
    (turn,) = await stage.claim()
    await stage.webhook({"id": "e1", "from": "ana", "text": "Oi, aqui é o Caio", "echo": True})
    verdict = await stage.answer(turn)
    await stage.after(60.0)

    assert (verdict.state, verdict.reason) == (TurnState.OBSOLETE, "authority_revoked")
    assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    assert stage.sent == []


async def test_a_take_over_the_phones_takeover_wins(stage: Stage) -> None:
    """Device replies have no owner: a plain take makes one (I1)."""
    await stage.customer("oi")
    await stage.webhook({"id": "e1", "from": "ana", "text": "Oi", "echo": True})
    bia = await stage.operator("bia")
    view = await stage.command(Command.TAKE, bia)

    assert (view.state, view.owner) == ("HUMAN_ACTIVE", bia.operator)
