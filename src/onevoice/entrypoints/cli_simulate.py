"""``onevoice simulate``: play the scenarios and say whether each shows what it must."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onevoice.entrypoints.cli_options import ConfigOption, read_settings
from onevoice.errors import ConfigurationError

if TYPE_CHECKING:
    from onevoice.entrypoints.simulate.record import Played
    from onevoice.entrypoints.simulate.runner import Watcher
    from onevoice.entrypoints.simulate.scenario import Scenario
    from onevoice.settings import Settings

INTERRUPTED = 130

ScenarioArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCENARIO]...", help="Which ones; all of them without a name.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
StrictOption = Annotated[bool, typer.Option("--strict-times", help="Let the times decide too.")]
ListOption = Annotated[bool, typer.Option("--list", help="Name the scenarios and what each must show.")]


def simulate(
    *,
    scenarios: ScenarioArgument = None,
    json: JsonOption = False,
    strict_times: StrictOption = False,
    list_: ListOption = False,
    config: ConfigOption = None,
) -> None:
    """Play scenarios against a server of its own and show what happened.

    Starts its servers, databases and stand-ins itself, on loopback and in a temporary folder, and ends them.
    Touches no data_dir and needs no configuration; with --config, the [triage] there decides.
    Prints a timeline per scenario. Exits with 1 when one differs from what it must show: order and outcome
    decide, times only with --strict-times. Exits with 2 for an unknown name.

    \b
    Example: onevoice simulate burst correction
    """
    from onevoice.entrypoints.simulate.scenarios import SCENARIOS

    if list_:
        width = max(map(len, SCENARIOS))
        for scenario in SCENARIOS.values():
            typer.echo(f"{scenario.name:<{width}}  {scenario.shows}")
        return
    chosen = _choose(scenarios or list(SCENARIOS), SCENARIOS)
    settings = None if config is None else read_settings(config)
    if not _play(chosen, as_json=json, strict_times=strict_times, settings=settings):
        raise typer.Exit(1)


def _choose(names: Sequence[str], known: Mapping[str, Scenario]) -> list[Scenario]:
    """The scenarios of these names, each once."""
    faults: list[str] = []
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}?" if near else "`onevoice simulate --list` names them all"
            faults.append(f"no scenario is named {name}; {meant}")
    if faults:
        raise ConfigurationError(faults)
    return [known[name] for name in dict.fromkeys(names)]


def _play(
    scenarios: Sequence[Scenario], *, as_json: bool, strict_times: bool, settings: Settings | None
) -> bool:
    from rich.console import Console

    from onevoice.adapters.clock import SystemClock
    from onevoice.entrypoints.simulate import report
    from onevoice.entrypoints.simulate.progress import Progress

    clock = SystemClock()
    began = clock.monotonic()
    with Progress(Console(stderr=True), scenarios, strict_times=strict_times) as progress:
        played = _run(scenarios, progress, settings)
    seconds = clock.monotonic() - began
    if as_json:
        typer.echo(report.as_json(played, seconds=seconds, strict_times=strict_times))
    else:
        console = Console(highlight=False)
        for one in played:
            console.print(report.as_tables(one, strict_times=strict_times))
        console.print(report.as_summary(played, seconds=seconds, strict_times=strict_times))
    return not any(one.differences(strict_times=strict_times) for one in played)


def _run(scenarios: Sequence[Scenario], watcher: Watcher, settings: Settings | None) -> list[Played]:
    import uvloop

    from onevoice.adapters.chance import SystemChance
    from onevoice.adapters.clock import SystemClock
    from onevoice.entrypoints.simulate.runner import Runner
    from onevoice.telemetry import configure_logging

    configure_logging()
    runner = Runner(
        clock=SystemClock(),
        chance=SystemChance(),
        watcher=watcher,
        triage=None if settings is None else settings.triage.model_dump(mode="json"),
        folder=None if settings is None else settings.folder,
    )
    try:
        return uvloop.run(_until_stopped(runner.play(scenarios)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo("stopped; its servers have ended", err=True)
        sys.exit(INTERRUPTED)


async def _until_stopped(playing: Coroutine[Any, Any, list[Played]]) -> list[Played]:
    """SIGTERM ends it as Ctrl-C does: through every clean-up."""
    task = asyncio.ensure_future(playing)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task
