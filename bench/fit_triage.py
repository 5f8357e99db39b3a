"""Fits the weights of the rules decider: multinomial logistic regression, in pure Python, the same on every run.

    python bench/fit_triage.py [--check]

reads the labelled rows below and writes ``weights.json`` beside the decider.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

from onevoice.adapters.triage import rules
from onevoice.adapters.triage.rules.features import read_exchange, signs_of
from onevoice.adapters.triage.rules.lexicon import guess_language, lexicon_of
from onevoice.adapters.triage.rules.weights import ORDER, Weights
from onevoice.vocabulary import TriageDecision

REPOSITORY: Final = Path(__file__).resolve().parent.parent
DEV_SET: Final = REPOSITORY / "bench" / "data" / "triage-dev.jsonl"
FITTED_FROM: Final = (
    DEV_SET,
    REPOSITORY / "bench" / "data" / "triage-more.jsonl",
    REPOSITORY / "tests" / "decide" / "triage_own.jsonl",
)

_ROUNDS: Final = 200
_STEP: Final = 0.3
_SHRINK: Final = 2.5
"""Weight of the squared penalty: many signs, few rows."""
_LABEL_SHARE: Final = 0.65
"""How much of a row's mass its label keeps when other decisions are also right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One labelled overtaking."""

    id: str
    language: str
    domain: str
    earlier: str
    reply: str
    newer: str
    label: TriageDecision
    also: frozenset[TriageDecision]

    def is_right(self, decision: TriageDecision) -> bool:
        return decision is self.label or decision in self.also

    def is_harmed_by(self, decision: TriageDecision) -> bool:
        """Sent what was taken back, or dropped what stood."""
        opposites = {TriageDecision.RELEASE_FIRST, TriageDecision.CANCEL_FIRST}
        return {decision, self.label} == opposites and decision not in self.also


def read_rows(path: Path) -> list[Row]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_row(cast("dict[str, object]", json.loads(line))) for line in lines if line.strip()]


def _row(data: dict[str, object]) -> Row:
    return Row(
        id=str(data["id"]),
        language=str(data["lang"]),
        domain=str(data["domain"]),
        earlier=str(data["a"]),
        reply=str(data["a_reply"]),
        newer=str(data["b"]),
        label=TriageDecision(str(data["label"])),
        also=frozenset(TriageDecision(also) for also in cast("list[str]", data["also"])),
    )


@cache
def signs_in(row: Row) -> frozenset[str]:
    lexicon = lexicon_of(guess_language((row.earlier, row.reply, row.newer)))
    return signs_of(read_exchange((row.earlier,), (row.reply,), (row.newer,), lexicon))


def fit(rows: Sequence[Row]) -> Weights:
    """Fit by full-batch gradient descent with a step of its own for each weight (Adagrad)."""
    examples = [(("bias", *sorted(signs_in(row))), _target(row)) for row in rows]
    names = sorted({name for signs, _ in examples for name in signs})
    weights = {name: [0.0, 0.0, 0.0] for name in names}
    squares = {name: [1e-8, 1e-8, 1e-8] for name in names}
    for _ in range(_ROUNDS):
        for name, slope in _slopes(examples, weights).items():
            weight, square = weights[name], squares[name]
            for column in range(3):
                square[column] += slope[column] ** 2
                weight[column] -= _STEP * slope[column] / math.sqrt(square[column])
    triples = {name: (values[0], values[1], values[2]) for name, values in weights.items()}
    bias = triples.pop("bias")
    return Weights(bias=bias, signs=triples)


def _slopes(
    examples: Iterable[tuple[Sequence[str], tuple[float, float, float]]],
    weights: Mapping[str, Sequence[float]],
) -> dict[str, list[float]]:
    slopes = {name: [_SHRINK * value for value in values] for name, values in weights.items()}
    slopes["bias"] = [0.0, 0.0, 0.0]
    for signs, (wanted_release, wanted_cancel, wanted_merge) in examples:
        release = cancel = merge = 0.0
        for name in signs:
            weight = weights[name]
            release += weight[0]
            cancel += weight[1]
            merge += weight[2]
        top = max(release, cancel, merge)
        release, cancel, merge = math.exp(release - top), math.exp(cancel - top), math.exp(merge - top)
        total = release + cancel + merge
        release, cancel, merge = (
            release / total - wanted_release,
            cancel / total - wanted_cancel,
            merge / total - wanted_merge,
        )
        for name in signs:
            slope = slopes[name]
            slope[0] += release
            slope[1] += cancel
            slope[2] += merge
    return slopes


def _target(row: Row) -> tuple[float, float, float]:
    kept = _LABEL_SHARE if row.also else 1.0
    shared = (1.0 - kept) / len(row.also) if row.also else 0.0
    release, cancel, merge = (
        kept if one is row.label else shared if one in row.also else 0.0 for one in ORDER
    )
    return release, cancel, merge


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fit the weights of the rules decider.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the committed weights differ"
    )
    options = parser.parse_args(arguments)
    rows = [row for path in FITTED_FROM for row in read_rows(path)]
    weights = fit(rows)
    lines = [
        f"  {json.dumps(name)}: [{', '.join(f'{value:.3f}' for value in values)}]"
        for name, values in (("bias", weights.bias), *sorted(weights.signs.items()))
    ]
    fitted = "{\n" + ",\n".join(lines) + "\n}\n"
    target = Path(str(rules.__file__)).parent / "weights.json"
    if options.check:
        same = target.read_text(encoding="utf-8") == fitted
        print(f"{target.name} {'is up to date' if same else 'is stale; run python bench/fit_triage.py'}")
        return 0 if same else 1
    target.write_text(fitted, encoding="utf-8")
    print(f"fitted {len(weights.signs)} signs on {len(rows)} rows -> {target.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
