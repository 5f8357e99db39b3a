"""Every cast in every order, as far as the budget goes: I1 to I7 and liveness after each schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import proof
from tests.interleave.casts import SMALL
from tests.interleave.repertoire import BURST, CASTS
from tests.interleave.search import Found, explore, replay, wander
from tests.interleave.theatre import Theatre
from tests.interleave.world import Cast

RUNS = 350
WALKS = 70
LONGER = 60


# A green run in which nothing happens proves nothing: each of these happened in some schedule of its cast.
HAPPENED: dict[str, tuple[str, ...]] = {
    "takeover": ("crash", "authority AI_ACTIVE to HUMAN_ACTIVE", "authority AI_ACTIVE to HANDOFF_PENDING",
                 "authority HANDOFF_PENDING to HUMAN_ACTIVE", "authority HUMAN_ACTIVE to AI_ACTIVE",
                 "turn obsolete: authority_revoked", "turn sealed: answered", "ai message revoked: authority_revoked",
                 "operator message sent: "),
    "channel answers": ("channel accepted", "channel timed out but delivered", "channel timed out and lost",
                        "channel refused", "channel dropped", "channel window closed", "crash",
                        "ai message parked: needs_template", "ai message failed: channel_drop"),
    "decisions": ("triage release_first", "triage cancel_first", "triage merge", "ai message superseded: superseded",
               "ai message cancelled: cancelled", "turn sealed: answered"),
    "lease": ("crash", "turn abandoned: lease_lost", "turn sealed: answered"),
    "two operators": ("authority HUMAN_ACTIVE to HUMAN_ACTIVE", "operator message revoked: authority_revoked",
                      "refused not_owner", "authority because of released"),
    "goodbye": ("agent goodbye", "turn handoff: customer_request", "authority because of customer_request"),
    "moods": ("agent goodbye", "agent silent", "agent fails", "agent parts", "agent writes",
              "turn handoff: customer_request", "turn silent: nothing_to_say", "turn failed: overloaded"),
    "device reply": ("authority because of device_reply", "device message sent: "),
    "write tool": ("agent writes", "crash", "authority because of effect_outcome_unknown"),
    "burst": ("turn discarded: newer_message",),
}  # fmt: skip


def count(found: Found) -> None:
    proof.count(
        schedules=found.schedules,
        states=len(found.states),
        ambiguous=found.ambiguous,
        ambiguous_resolved=found.resolved,
    )
    proof.note("happened", {mark: "yes" for mark in found.marks})


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("cast", CASTS, ids=lambda cast: cast.name)
async def test_no_order_of_events_breaks_a_promise(theatre: Theatre, cast: Cast, *, is_long: bool) -> None:
    """Depth-first with at most three preemptions and one crash, then random walks without bounds."""
    factor = LONGER if is_long else 1
    found = await explore(theatre, cast, runs_max=RUNS * factor)
    count(found)
    assert not found.failures, str(found.failures[0])

    walked = await wander(theatre, replace(cast, preemptions_max=None), runs=WALKS * factor, seed=6)
    count(walked)
    assert not walked.failures, str(walked.failures[0])
    happened = found.marks + walked.marks
    assert [mark for mark in HAPPENED.get(cast.name, ()) if not happened[mark]] == []


@pytest.mark.parametrize("cast", [SMALL, replace(BURST, actors=BURST.actors[1:])], ids=["small", "burst"])
async def test_pruning_hides_nothing(theatre: Theatre, cast: Cast) -> None:
    """The naive and the pruned search of a small cast end in the same states."""
    naive = await explore(theatre, cast, runs_max=2000, prunes=False)
    pruned = await explore(theatre, cast, runs_max=2000, prunes=True)
    count(naive)
    count(pruned)

    assert naive.is_exhausted
    assert pruned.is_exhausted
    assert naive.endings == pruned.endings
    assert pruned.runs <= naive.runs


async def test_a_list_of_integers_replays_identically(theatre: Theatre) -> None:
    """The same list is the same run, step by step and with the same end."""
    walked = await wander(theatre, BURST, runs=1, seed=1)
    again = await wander(theatre, BURST, runs=1, seed=1)
    given = [1, 0, 1, 0, 1]
    first, second = [await replay(theatre, BURST, given) for _ in range(2)]

    assert walked.endings == again.endings
    assert first.endings == second.endings
