"""The verdict over a played scenario, and how it is shown."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from onevoice.entrypoints.simulate.record import Expectation, Moment, Played, Timing
from onevoice.entrypoints.simulate.report import as_json, as_summary, as_tables


def played(*, held: bool = True, ms: int | None = 610, published_ms: int | None = 606) -> Played:
    return Played(
        name="release_first",
        shows="both answers, in order",
        moments=(
            Moment(ms=0, who="customer", what="“[bold]oi[/]”"),
            Moment(ms=600, who="gate", what="sealed"),
        ),
        expectations=(Expectation(what="agent calls: 1", held=held, found="2"),),
        timings=(Timing(what="A's answer", about_ms=600, ms=ms, published_ms=published_ms),),
        seconds=1.25,
    )


def shown(one: Played, *, strict_times: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=90).print(as_tables(one, strict_times=strict_times))
    return out.getvalue()


@pytest.mark.parametrize(
    ("ms", "close"), [(None, False), (574, False), (575, True), (600, True), (750, True), (751, False)]
)
def test_a_time_is_close_when_it_is_hardly_early_and_not_late(ms: int | None, close: bool) -> None:
    """A hold is never shorter than configured; a busy machine is a little late."""
    assert Timing(what="x", about_ms=600, ms=ms).is_close is close


def test_order_and_outcome_decide_times_only_when_strict() -> None:
    """A late answer differs only where the times were asked to decide."""
    late = played(ms=900)

    assert late.differences(strict_times=False) == []
    assert late.differences(strict_times=True) == ["A's answer at about 600 ms; found: 900 ms"]
    assert played(held=False).differences(strict_times=False) == ["agent calls: 1; found: 2"]
    assert played(ms=None).differences(strict_times=True) == ["A's answer at about 600 ms; found: never"]


def test_json_says_what_differs() -> None:
    """A program reads the verdict, the reasons and the timeline."""
    whole = json.loads(as_json([played(), played(held=False)], seconds=2.04, strict_times=False))

    assert whole["ok"] is False
    assert whole["seconds"] == 2.0
    first, second = whole["scenarios"]
    assert (first["ok"], second["ok"]) == (True, False)
    assert second["differences"] == ["agent calls: 1; found: 2"]
    assert first["timeline"][0] == {"ms": 0, "who": "customer", "what": "“[bold]oi[/]”", "why": ""}
    assert first["times"][0]["is_close"] is True
    assert first["times"][0]["published_ms"] == 606


def test_the_tables_show_the_texts_as_they_are() -> None:
    """A customer's brackets are no markup."""
    text = shown(played())

    assert "“[bold]oi[/]”" in text
    assert "606 ms" in text
    assert "as it must be: agent calls: 1" in text


def test_the_verdict_gives_the_reason() -> None:
    """Each difference on a line of its own."""
    text = shown(played(held=False, ms=900), strict_times=True)

    assert "differs" in text
    assert "  - agent calls: 1; found: 2" in text
    assert "  - A's answer at about 600 ms; found: 900 ms" in text


def test_without_published_figures_there_is_no_column_for_them() -> None:
    """Only the case study's scenarios were published."""
    assert "case study" in shown(played())
    assert "case study" not in shown(played(published_ms=None))


def test_the_summary_names_those_that_differ() -> None:
    """The last line is enough for somebody in a hurry."""
    out = io.StringIO()
    console = Console(file=out, width=90)
    console.print(as_summary([played(), played(held=False)], seconds=2.4, strict_times=False))
    console.print(as_summary([played()], seconds=2.4, strict_times=False))

    assert out.getvalue() == (
        "1 of 2 as they must be, in 2 s; differing: release_first\n1 of 1 as they must be, in 2 s\n"
    )
