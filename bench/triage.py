"""Judges the rules decider on labelled rows, as shipped and with each domain left out in turn.

    python bench/triage.py [--data PATH]

A row is right when the decision is its label or one of ``also``; harmful is cancel_first for release_first
or the reverse. Exit code 1 when a threshold is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final
from uuid import UUID

from fit_triage import DEV_SET, FITTED_FROM, Row, fit, read_rows
from rich.console import Console
from rich.table import Table

from onevoice.adapters.triage.rules import decide_by_rules
from onevoice.vocabulary import ChannelName, ConversationId, TriageDecision, TriageRequest

RIGHT_MIN: Final = 0.85
HARMFUL_MAX: Final = 0.03
LEFT_OUT_RIGHT_MIN: Final = 0.70
LEFT_OUT_HARMFUL_MAX: Final = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Shares of rows: label met exactly, right, harmful."""

    count: int
    strict: float
    right: float
    harmful: float


def score(rows: Sequence[Row], decisions: Mapping[str, TriageDecision]) -> Score:
    count = max(len(rows), 1)
    return Score(
        count=len(rows),
        strict=sum(decisions[row.id] is row.label for row in rows) / count,
        right=sum(row.is_right(decisions[row.id]) for row in rows) / count,
        harmful=sum(row.is_harmed_by(decisions[row.id]) for row in rows) / count,
    )


def decide_as_shipped(rows: Sequence[Row]) -> dict[str, TriageDecision]:
    return {row.id: decide_by_rules(_request(row))[0] for row in rows}


def decide_with_domain_left_out(rows: Sequence[Row]) -> dict[str, TriageDecision]:
    """Fit on every known row of the other domains, then decide the rows of the one left out."""
    known = {row.id: row for path in FITTED_FROM for row in read_rows(path)} | {row.id: row for row in rows}
    decisions: dict[str, TriageDecision] = {}
    for domain in sorted({row.domain for row in rows}):
        weights = fit([row for row in known.values() if row.domain != domain])
        for row in rows:
            if row.domain == domain:
                decisions[row.id] = decide_by_rules(_request(row), weights=weights)[0]
    return decisions


def milliseconds_each(rows: Sequence[Row]) -> float:
    """Processor time of one decision, once the words are loaded."""
    requests = [_request(row) for row in rows]
    started = process_time()
    for request in requests:
        decide_by_rules(request)
    return (process_time() - started) * 1000 / max(len(rows), 1)


def _request(row: Row) -> TriageRequest:
    return TriageRequest(
        conversation_id=ConversationId(UUID(int=0)),
        channel=ChannelName("bench"),
        overtaken=(row.earlier,),
        reply=(row.reply,),
        newer=(row.newer,),
    )


def _scores_table(
    title: str, rows: Sequence[Row], decisions: Mapping[str, TriageDecision], *, by: str
) -> Table:
    table = Table(title=title)
    for heading in (by, "rows", "strict", "right", "harmful"):
        table.add_column(heading, justify="left" if heading == by else "right")
    groups = sorted({str(getattr(row, by)) for row in rows})
    for group in (*groups, "all"):
        chosen = [row for row in rows if group in ("all", getattr(row, by))]
        result = score(chosen, decisions)
        shares = (f"{share:.1%}" for share in (result.strict, result.right, result.harmful))
        table.add_row(group, str(result.count), *shares, style="bold" if group == "all" else None)
    return table


def _confusion_table(rows: Sequence[Row], decisions: Mapping[str, TriageDecision]) -> Table:
    table = Table(title="label (down) against decision (across)")
    table.add_column("label")
    for decision in TriageDecision:
        table.add_column(decision.value, justify="right")
    for label in TriageDecision:
        counts = [
            sum(row.label is label and decisions[row.id] is one for row in rows) for one in TriageDecision
        ]
        table.add_row(label.value, *(str(count) for count in counts))
    return table


def _missed(name: str, result: Score, *, right_min: float, harmful_max: float) -> list[str]:
    missed: list[str] = []
    if result.right < right_min:
        missed.append(f"{name}: right {result.right:.1%} is under {right_min:.0%}")
    if result.harmful > harmful_max:
        missed.append(f"{name}: harmful {result.harmful:.1%} is over {harmful_max:.0%}")
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Judge the rules decider on labelled rows.")
    parser.add_argument(
        "--data", type=Path, default=DEV_SET, help="JSON lines: id, lang, domain, a, a_reply, b, label, also"
    )
    parser.add_argument("--errors", action="store_true", help="list the rows that were not right")
    options = parser.parse_args(arguments)
    rows = read_rows(options.data)
    shipped, left_out = decide_as_shipped(rows), decide_with_domain_left_out(rows)
    console = Console()
    console.print(_scores_table("as shipped", rows, shipped, by="language"), _confusion_table(rows, shipped))
    console.print(_scores_table("each domain left out in turn", rows, left_out, by="domain"))
    console.print(
        _scores_table("the same by language", rows, left_out, by="language"), _confusion_table(rows, left_out)
    )
    console.print(f"{milliseconds_each(rows):.2f} ms of processor time for each decision")
    if options.errors:
        for row in rows:
            if not row.is_right(left_out[row.id]):
                console.print(
                    f"{row.id} {row.label.value} -> {left_out[row.id].value}: {row.earlier} / {row.newer}"
                )
    missed = [
        *_missed("as shipped", score(rows, shipped), right_min=RIGHT_MIN, harmful_max=HARMFUL_MAX),
        *_missed(
            "domain left out",
            score(rows, left_out),
            right_min=LEFT_OUT_RIGHT_MIN,
            harmful_max=LEFT_OUT_HARMFUL_MAX,
        ),
    ]
    for line in missed:
        console.print(line, style="bold red")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
