"""Says how it goes while scenarios are played: live on a terminal, a line per scenario elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from onevoice.entrypoints.simulate.record import Played
from onevoice.entrypoints.simulate.runner import Watcher
from onevoice.entrypoints.simulate.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


class Progress(Watcher):
    """Writes to ``console``, which is stderr: stdout is for the result."""

    def __init__(self, console: Console, scenarios: Sequence[Scenario], *, strict_times: bool) -> None:
        from rich.progress import Progress as Bars
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = console
        self._strict_times = strict_times
        self._bars = Bars(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {
            scenario.name: self._bars.add_task(scenario.name, start=False, total=1, state="waits")
            for scenario in scenarios
        }

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def starts(self, scenarios: Sequence[Scenario]) -> None:
        for scenario in scenarios:
            self._bars.update(self._tasks[scenario.name], state="its server starts")
        if not self._console.is_terminal:
            self._console.print(f"starting a server for {', '.join(scenario.name for scenario in scenarios)}")

    def plays(self, scenario: Scenario) -> None:
        task = self._tasks[scenario.name]
        self._bars.start_task(task)
        self._bars.update(task, state="is played")

    def played(self, played: Played) -> None:
        differs = bool(played.differences(strict_times=self._strict_times))
        verdict = "[red]differs[/]" if differs else "[green]as it must be[/]"
        self._bars.update(self._tasks[played.name], completed=1, state=verdict)
        if not self._console.is_terminal:
            self._console.print(f"{played.name}: {verdict} ({played.seconds:.1f} s)")
