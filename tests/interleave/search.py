"""Searches: depth-first with or without pruning, seeded random walks, and the replay of one list of integers."""

from __future__ import annotations

import random  # noqa: TID251  # Seeded walks, repeatable.
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from onevoice.errors import OnevoiceError
from tests import progress
from tests.interleave.choices import Choices, Diverged, Pruned
from tests.interleave.invariants import Rows, ambiguous_sends, describe, judge
from tests.interleave.memory import Memory
from tests.interleave.recovery import recover
from tests.interleave.theatre import Theatre
from tests.interleave.world import Cast, Step, World


@dataclass(slots=True)
class Failure:
    """A schedule that broke a promise, with everything needed to see it again."""

    cast: Cast
    choices: list[int]
    violations: list[str]
    trace: list[Step]

    def __str__(self) -> str:
        lines = [
            f"{self.cast.name}: {len(self.violations)} broken",
            describe(self.violations),
            "",
            "who did what:",
        ]
        lines += [
            f"  {number:3} {step.actor:12} {step.did:40} {step.saw[:150]}"
            for number, step in enumerate(self.trace)
        ]
        numbers = ",".join(map(str, self.choices))
        bound = "-" if self.cast.preemptions_max is None else str(self.cast.preemptions_max)
        command = f"python -m tests.interleave.replay '{self.cast.name}' {numbers or '-'}"
        lines += ["", f"replay: {command} {bound} {self.cast.crashes_max}"]
        return "\n".join(lines)


@dataclass(slots=True)
class Found:
    """What a search has seen. ``is_exhausted``: there was nothing left to try.

    ``runs`` counts all, ``schedules`` those that differ: random walks may go the same way twice. ``diverged`` are
    runs that could not repeat their beginning: of several that wait for one transaction, the server wakes any first.
    """

    runs: int = 0
    schedules: int = 0
    pruned: int = 0
    diverged: int = 0
    states: set[object] = field(default_factory=set[object])
    endings: set[str] = field(default_factory=set[str])
    judged: set[object] = field(default_factory=set[object])
    marks: Counter[str] = field(default_factory=Counter[str])
    ambiguous: int = 0
    resolved: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])
    is_exhausted: bool = False


async def run_once(
    theatre: Theatre,
    cast: Cast,
    choices: Choices,
    *,
    found: Found,
    prunes: bool,
    crash_at: Collection[int] = (),
    steps_recovery: bool = False,
    memory: Memory | None = None,
) -> World:
    """One schedule from an empty database to its verdict; ``crash_at`` are the steps before which their actor dies."""
    world = World(
        theatre,
        cast,
        choices,
        seen_states=found.states if prunes else None,
        marks=found.marks,
        crash_at=crash_at,
        steps_recovery=steps_recovery,
        memory=memory,
    )
    found.runs += 1
    progress.tick("schedules")
    try:
        await world.play()
        await _judge(world, found)
    except Pruned:
        found.pruned += 1
    except Diverged:
        found.diverged += 1
    finally:
        world.remember_results()
        if world.faults:
            found.failures.append(
                Failure(
                    cast=cast,
                    choices=list(choices.made),
                    violations=world.faults,
                    trace=world.trace,
                )
            )
    return world


async def _judge(world: World, found: Found) -> None:
    digest, broken, _ = await world.theatre.look(world.clock.instant)
    world.faults += [rule for rule in broken if rule not in world.faults]
    ending = (digest, world.clock.instant, world.record.describe())
    if ending in found.judged and not world.steps_recovery:
        return
    found.judged.add(ending)
    try:
        recovered = await recover(world)
    except (OnevoiceError, ExceptionGroup) as error:
        world.faults.append(f"recovery failed: {error} {error.__cause__ or ''}")
        return
    rows = await world.theatre.rows()
    world.faults += judge(rows, world.record, recovered=recovered)
    world.faults += await world.theatre.violations()
    found.endings.add(digest)
    for attempt, is_resolved in ambiguous_sends(rows):
        found.ambiguous += 1
        found.resolved += is_resolved
        if not is_resolved:
            world.faults.append(f"I3: nobody knows what became of {attempt}, and nothing says so")
    _note_what_happened(found, rows)


def _note_what_happened(found: Found, rows: Rows) -> None:
    for turn in rows["turn"]:
        found.marks[f"turn {turn['state']}: {turn['reason']}"] += 1
    for message in rows["outbound"]:
        found.marks[f"{message['author']} message {message['state']}: {message['reason'] or ''}"] += 1
    for kind, state, reason, data in rows["journal"]:
        if kind == "authority":
            found.marks[f"authority {data['from']} to {state}"] += 1
            found.marks[f"authority because of {reason}"] += 1


async def explore(
    theatre: Theatre,
    cast: Cast,
    *,
    runs_max: int,
    prunes: bool = True,
    stops_at_failure: bool = True,
) -> Found:
    """Depth-first over every choice, until nothing is left or ``runs_max`` is reached."""
    found, memory = Found(), Memory()
    prefix: Sequence[int] | None = ()
    while prefix is not None and found.runs < runs_max:
        choices = Choices(given=prefix)
        await run_once(theatre, cast, choices, found=found, prunes=prunes, memory=memory)
        found.schedules += 1
        if found.failures and stops_at_failure:
            return found
        prefix = choices.next_prefix()
    found.is_exhausted = prefix is None and not found.diverged
    return found


async def wander(
    theatre: Theatre, cast: Cast, *, runs: int, seed: int, stops_at_failure: bool = True
) -> Found:
    """Random walks; the same seed walks the same way."""
    found, memories, walked = Found(), (Memory(), Memory()), set[tuple[int, ...]]()
    for number in range(runs):
        choices = Choices(luck=random.Random(f"{seed}:{number}"))  # noqa: S311  # Repeatable, not secret.
        # Half of them kill nobody: a walk that may kill at every step seldom gets far.
        walker = cast if number % 2 else replace(cast, crashes_max=0)
        await run_once(theatre, walker, choices, found=found, prunes=False, memory=memories[number % 2])
        walked.add((number % 2, *choices.made))
        found.schedules = len(walked)
        if found.failures and stops_at_failure:
            break
    return found


async def replay(theatre: Theatre, cast: Cast, given: Sequence[int]) -> Found:
    found = Found()
    await run_once(theatre, cast, Choices(given=given), found=found, prunes=False)
    if found.diverged:
        raise ValueError("these choices are not possible in this cast as it is now")
    return found
