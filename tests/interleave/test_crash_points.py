# ruff: noqa: E501  # A table.
"""Killed before and after every statement and call of the main stories, another process carries on from the rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onevoice.flow.authority.decide import Command
from tests import proof
from tests.interleave import voices
from tests.interleave.casts import (
    clock,
    customer,
    dispatcher,
    human_holds,
    is_owned,
    is_sending,
    message_due,
    operator,
    operators,
    outbox_due,
    reply_overtaken,
    reply_sealed,
    status,
    sweeper,
    triage_due,
    triager,
    turn_due,
    webhook,
    worker,
)
from tests.interleave.choices import Choices
from tests.interleave.gates import ANYWHERE
from tests.interleave.memory import Memory
from tests.interleave.search import Found, run_once
from tests.interleave.theatre import Theatre
from tests.interleave.world import Actor, Cast

WORKER = Actor(name="worker", script=worker(2, renews=True), when=turn_due)
DISPATCHER = Actor(name="dispatcher", script=dispatcher(3), when=outbox_due)
ANSWERS = (WORKER, DISPATCHER)
WAITING_DISPATCHER = Actor(name="dispatcher", script=dispatcher(sends_when=is_owned), when=outbox_due)
TRIAGED = (
    Actor(name="triage", script=triager(), when=triage_due),
    DISPATCHER,
    Actor(name="clock", script=clock(5.0)),
    WORKER,
)

STORIES: tuple[Cast, ...] = (
    Cast(name="burst", before=operators,
         actors=(Actor(name="customer", script=customer("m1", "m2")), Actor(name="clock", script=clock(5.0)), *ANSWERS)),
    Cast(name="takeover during the send", before=reply_sealed,
         actors=(WAITING_DISPATCHER,
                 Actor(name="bia", script=operator("bia", Command.TAKE, "from bia"), when=is_sending),
                 Actor(name="status", script=status("delivered")),
                 Actor(name="dispatcher 2", script=dispatcher(), when=outbox_due))),
    Cast(name="write tool", before=message_due, moods=("writes",), actors=ANSWERS),
    Cast(name="takeover during the write", before=message_due, moods=("writes",),
         actors=(WORKER, Actor(name="bia", script=operator("bia", Command.TAKE, Command.RELEASE)), DISPATCHER)),
    Cast(name="triage merges", before=reply_overtaken, decisions=("merge",), actors=TRIAGED),
    Cast(name="triage cancels", before=reply_overtaken, decisions=("cancel_first",), actors=TRIAGED),
    Cast(name="triage releases", before=reply_overtaken, decisions=("release_first",), actors=TRIAGED),
    Cast(name="retry", before=reply_sealed, outcomes=("refused",),
         actors=(Actor(name="dispatcher", script=dispatcher(1), when=outbox_due), Actor(name="clock", script=clock(5.0)))),
    Cast(name="lost answer", before=reply_sealed, outcomes=("timed out but delivered",),
         actors=(Actor(name="dispatcher", script=dispatcher(1), when=outbox_due),
                 Actor(name="status", script=status("sent")))),
    Cast(name="parts", before=reply_sealed, moods=("parts",), actors=(DISPATCHER, Actor(name="clock", script=clock(2.0)))),
    Cast(name="goodbye", before=message_due, moods=("goodbye",),
         actors=(*ANSWERS, Actor(name="bia", script=operator("bia", Command.TAKE, "from bia", Command.RELEASE)))),
    Cast(name="edit", before=reply_sealed,
         actors=(Actor(name="edit", script=webhook(id="x1", kind="edit", target="m1", text="other words")), *ANSWERS)),
    Cast(name="device reply", before=reply_sealed,
         actors=(Actor(name="phone", script=webhook(id="e1", text="from the phone", echo=True)), DISPATCHER)),
    Cast(name="operator answers", before=human_holds,
         actors=(Actor(name="bia", script=operator("bia", "from bia", Command.RELEASE)),
                 Actor(name="customer", script=customer("m2")), DISPATCHER)),
    Cast(name="lost worker", before=message_due,
         actors=(Actor(name="clock", script=clock(31.0)), Actor(name="sweep", script=sweeper()), *ANSWERS)),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("story", [*STORIES, *voices.STORIES], ids=lambda story: story.name)
async def test_killed_anywhere_another_process_carries_on(
    theatre: Theatre, story: Cast, *, is_long: bool
) -> None:
    """Every statement, commit and call is a place to die at; afterwards I1 to I7 hold and nothing is left undone."""
    cast = replace(story, level=ANYWHERE)
    found, memory = Found(), Memory()
    undisturbed = await run_once(theatre, cast, Choices(), found=found, prunes=False, memory=memory)
    assert not found.failures, str(found.failures[0])
    points = undisturbed.step_count

    for crash_at in range(points):
        await run_once(
            theatre, cast, Choices(), found=found, prunes=False, crash_at=(crash_at,), memory=memory
        )
        assert not found.failures, f"killed at point {crash_at} of {points}: {found.failures[0]}"

    assert found.marks["crash"] == points
    proof.count(
        crash_points=points, schedules=points, ambiguous=found.ambiguous, ambiguous_resolved=found.resolved
    )
    if is_long:
        await _kill_twice(theatre, cast, points, memory)


async def _kill_twice(theatre: Theatre, cast: Cast, points: int, memory: Memory) -> None:
    """Whoever carries on dies as well: at each step that is left after each first death, recovery's own included."""
    for first in range(points):
        found = Found()
        steps = await _kill_at(theatre, cast, (first,), found, memory)
        for second in range(first + 1, steps):
            await _kill_at(theatre, cast, (first, second), found, memory)
        pairs = max(0, steps - first - 1)
        assert found.marks["crash"] == 1 + 2 * pairs
        proof.count(
            crash_pairs=pairs, schedules=pairs, ambiguous=found.ambiguous, ambiguous_resolved=found.resolved
        )


async def _kill_at(
    theatre: Theatre, cast: Cast, crash_at: tuple[int, ...], found: Found, memory: Memory
) -> int:
    """Returns how many steps there were in all."""
    world = await run_once(
        theatre,
        cast,
        Choices(),
        found=found,
        prunes=False,
        crash_at=crash_at,
        steps_recovery=True,
        memory=memory,
    )
    assert not found.failures, f"killed at points {crash_at}: {found.failures[0]}"
    return world.step_count
