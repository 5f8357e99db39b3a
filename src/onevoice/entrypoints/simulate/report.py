"""The scenarios as tables for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from onevoice.entrypoints.simulate.record import Played, Timing, shown_ms

if TYPE_CHECKING:
    from rich.console import RenderableType

_COLOURS = {
    "customer": "cyan",
    "channel": "green",
    "agent": "magenta",
    "gate": "blue",
    "triage": "blue",
    "authority": "blue",
    "crash": "red",
}


def as_json(played: Sequence[Played], *, seconds: float, strict_times: bool) -> str:
    """``ok`` decides the exit status; ``differences`` say why a scenario is not as it must be."""
    scenarios = [_scenario(one, strict_times=strict_times) for one in played]
    whole = {
        "ok": all(scenario["ok"] for scenario in scenarios),
        "seconds": round(seconds, 1),
        "scenarios": scenarios,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _scenario(played: Played, *, strict_times: bool) -> dict[str, object]:
    differences = played.differences(strict_times=strict_times)
    return {
        "name": played.name,
        "shows": played.shows,
        "ok": not differences,
        "differences": differences,
        "seconds": round(played.seconds, 1),
        "expectations": [asdict(expectation) for expectation in played.expectations],
        "times": [{**asdict(timing), "is_close": timing.is_close} for timing in played.timings],
        "timeline": [asdict(moment) for moment in played.moments],
    }


def as_tables(played: Played, *, strict_times: bool) -> RenderableType:
    """Heading, timeline, times and verdict of one scenario."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    heading = Text.assemble((played.name, "bold"), ("  " + played.shows, "dim"))
    timeline = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    timeline.add_column("ms", justify="right", no_wrap=True)
    timeline.add_column("who", no_wrap=True)
    timeline.add_column("what", overflow="fold", ratio=3)
    timeline.add_column("why", overflow="fold", ratio=1)
    for moment in played.moments:
        colour = _COLOURS.get(moment.who, "yellow" if moment.who.startswith("operator") else "")
        timeline.add_row(
            str(moment.ms), Text(moment.who, style=colour), Text(moment.what), Text(moment.why, style="dim")
        )
    parts: list[RenderableType] = [heading, timeline]
    if played.timings:
        parts += [Text(), _times(played.timings)]
    return Group(*parts, Text(), _verdict(played, strict_times=strict_times), Text())


def _times(timings: Sequence[Timing]) -> RenderableType:
    from rich import box
    from rich.table import Table

    published = any(timing.published_ms is not None for timing in timings)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("time of")
    table.add_column("must be about", justify="right")
    if published:
        table.add_column("case study", justify="right")
    table.add_column("here", justify="right")
    for timing in timings:
        cells = [timing.what, f"{timing.about_ms} ms"]
        cells += [shown_ms(timing.published_ms)] if published else []
        here = shown_ms(timing.ms)
        table.add_row(*cells, here if timing.is_close else f"[yellow]{here}[/]")
    return table


def _verdict(played: Played, *, strict_times: bool) -> RenderableType:
    from rich.text import Text

    differences = played.differences(strict_times=strict_times)
    if not differences:
        held = ", ".join(expectation.what for expectation in played.expectations)
        return Text.assemble(("as it must be", "bold green"), f": {held}")
    return Text.assemble(("differs", "bold red"), *(f"\n  - {reason}" for reason in differences))


def as_summary(played: Sequence[Played], *, seconds: float, strict_times: bool) -> RenderableType:
    """How many are as they must be, and which are not."""
    from rich.text import Text

    differing = [one.name for one in played if one.differences(strict_times=strict_times)]
    as_they_must = len(played) - len(differing)
    text = f"{as_they_must} of {len(played)} as they must be, in {seconds:.0f} s"
    if not differing:
        return Text(text, style="bold green")
    return Text(f"{text}; differing: {', '.join(differing)}", style="bold red")
