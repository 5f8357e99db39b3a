"""Every two transactions that touch the same rows, statement by statement, with the server's own lock waits."""

from __future__ import annotations

from itertools import combinations_with_replacement

from tests.interleave import aftermath, pairs, voices
from tests.interleave.gates import STATEMENT
from tests.interleave.world import Actor, Cast

SCENES = {**pairs.SCENES, **aftermath.SCENES, **voices.SCENES}


def stepped(scene: str, *acts: str) -> Cast:
    """The acts of a scene as actors, each stopped before every statement."""
    before, scripts = SCENES[scene]
    return Cast(
        name=f"{scene}: {' and '.join(acts)}",
        before=before,
        settings=aftermath.SETTINGS.get(scene, {}),
        level=STATEMENT,
        preemptions_max=3,
        decisions=("merge",),
        actors=tuple(
            Actor(name=f"{act} {number}", script=scripts[act]) for number, act in enumerate(acts, start=1)
        ),
    )


PAIRS: tuple[Cast, ...] = tuple(
    stepped(scene, *two)
    for scene, (_, acts) in SCENES.items()
    for two in combinations_with_replacement(acts, 2)
)
