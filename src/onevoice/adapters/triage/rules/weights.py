"""The fitted weight of each sign for each decision, read once from ``weights.json``.

``bench/fit_triage.py`` writes that file; nothing is fitted at run time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, cast

from onevoice.vocabulary import TriageDecision

ORDER: Final = (TriageDecision.RELEASE_FIRST, TriageDecision.CANCEL_FIRST, TriageDecision.MERGE)
HARM_COST: Final = 1.5
"""How much worse it is to mistake release_first for cancel_first, or back, than to merge without need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A linear model: one weight per sign and decision, in the order of ``ORDER``."""

    bias: tuple[float, float, float]
    signs: Mapping[str, tuple[float, float, float]]

    def chances(self, signs: frozenset[str]) -> tuple[float, float, float]:
        """How likely each decision is; the three sum to one."""
        release, cancel, merge = self.bias
        for sign in sorted(signs):
            weight = self.signs.get(sign)
            if weight is not None:
                release, cancel, merge = release + weight[0], cancel + weight[1], merge + weight[2]
        top = max(release, cancel, merge)
        powers = (math.exp(release - top), math.exp(cancel - top), math.exp(merge - top))
        total = sum(powers)
        return powers[0] / total, powers[1] / total, powers[2] / total

    def strongest(self, signs: frozenset[str], decision: TriageDecision, *, count: int) -> tuple[str, ...]:
        """The signs that spoke most for a decision."""
        column = ORDER.index(decision)
        speaking = [(self.signs[sign][column], sign) for sign in signs if sign in self.signs]
        speaking.sort(key=lambda pair: (-pair[0], pair[1]))
        return tuple(sign for weight, sign in speaking[:count] if weight > 0)


def least_costly(chances: tuple[float, float, float]) -> TriageDecision:
    """The decision with the least expected cost; merge wins every tie."""
    release, cancel, merge = chances
    costs = {
        TriageDecision.MERGE: release + cancel,
        TriageDecision.RELEASE_FIRST: HARM_COST * cancel + merge,
        TriageDecision.CANCEL_FIRST: HARM_COST * release + merge,
    }
    return min(costs, key=lambda decision: costs[decision])


@cache
def fitted_weights() -> Weights:
    source = files(__spec__.parent).joinpath("weights.json").read_text(encoding="utf-8")
    data = cast("Mapping[str, list[float]]", json.loads(source))
    triples = {name: (values[0], values[1], values[2]) for name, values in data.items()}
    bias = triples.pop("bias")
    return Weights(bias=bias, signs=triples)
