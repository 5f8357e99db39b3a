"""The scenarios by name, in the order in which they are listed.

A scenario is added by a module with a ``Scenario`` and a line here.
"""

from __future__ import annotations

from onevoice.entrypoints.simulate.scenario import Scenario
from onevoice.entrypoints.simulate.scenarios.case_study import CANCEL_FIRST, MERGE, RELEASE_FIRST
from onevoice.entrypoints.simulate.scenarios.correction import CORRECTION, CORRECTION_AFTER_WRITE
from onevoice.entrypoints.simulate.scenarios.duplicate_webhook import DUPLICATE_WEBHOOK
from onevoice.entrypoints.simulate.scenarios.parked import PARKED
from onevoice.entrypoints.simulate.scenarios.restart import RESTART
from onevoice.entrypoints.simulate.scenarios.return_to_ai import RETURN_TO_AI
from onevoice.entrypoints.simulate.scenarios.takeover import (
    TAKEOVER_DURING_GENERATION,
    TAKEOVER_DURING_SEND,
    TWO_OPERATORS,
)
from onevoice.entrypoints.simulate.scenarios.voice import AUDIO
from onevoice.entrypoints.simulate.scenarios.window import BURST, NEVER_STOPS

__all__ = ["SCENARIOS"]

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        RELEASE_FIRST,
        CANCEL_FIRST,
        MERGE,
        PARKED,
        BURST,
        NEVER_STOPS,
        AUDIO,
        CORRECTION,
        CORRECTION_AFTER_WRITE,
        TAKEOVER_DURING_GENERATION,
        TAKEOVER_DURING_SEND,
        TWO_OPERATORS,
        DUPLICATE_WEBHOOK,
        RETURN_TO_AI,
        RESTART,
    )
}
