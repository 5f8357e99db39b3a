"""Plays scenarios: those that share a configuration on one server, in conversations of their own, at once.

The case study's figures are milliseconds, so its servers are started and played first, while nothing else
starts. The other servers follow; the longest of their scenarios bounds the whole.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.record import Expectation, Played
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.server import Sections
from onevoice.entrypoints.simulate.stage import Stage
from onevoice.entrypoints.simulate.timeline import read_moments
from onevoice.errors import ScenarioStuck
from onevoice.ports.chance import Chance
from onevoice.ports.clock import Clock

_CASE_STUDY: Final[Sections] = {
    "turns": {"debounce_seconds": 0.0},
    "outbox": {"hold_seconds": 0.6},
}
_SECTIONS: Final[Mapping[Venue, Sections]] = {
    Venue.CASE_STUDY: _CASE_STUDY,
    Venue.UNDECIDED: {
        **_CASE_STUDY,
        "triage": {"use": "onevoice.entrypoints.simulate.undecided:never"},
    },
    Venue.DEFAULT: {},
    # Long enough to see the verdict and kill the process before it sends.
    Venue.RESTARTED: {"turns": {"debounce_seconds": 0.0}, "outbox": {"hold_seconds": 2.0}},
    # Shorter than a transcription takes, so that what the turn waits for is the words.
    Venue.VOICE: {"turns": {"debounce_seconds": 2.0}},
}
_WAVES: Final = ((Venue.CASE_STUDY, Venue.UNDECIDED), (Venue.DEFAULT, Venue.RESTARTED, Venue.VOICE))

REMOVALS_MAX, REMOVAL_PAUSE_SECONDS = 50, 0.1

_CUSTOMERS = ("Ana Lima", "Beto Reis", "Carla Nunes", "Davi Rocha", "Elisa Prado", "Fábio Luz", "Gil Moura")


class Watcher:
    """Is told how it goes; prints nothing itself."""

    def starts(self, scenarios: Sequence[Scenario]) -> None:
        """Their server is being started."""

    def plays(self, scenario: Scenario) -> None:
        """Its first webhook is about to be posted."""

    def played(self, played: Played) -> None:
        """It is over."""


class Runner:
    """``triage`` is the section of a user's own configuration, for the case study's decisions; a decider of
    their own is imported from ``folder``."""

    def __init__(
        self,
        *,
        clock: Clock,
        chance: Chance,
        watcher: Watcher,
        triage: Mapping[str, object] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._watcher = watcher
        self._triage = triage
        self._folder = folder

    async def play(self, scenarios: Sequence[Scenario]) -> list[Played]:
        """Play them all; in the order given, whatever order they ended in."""
        played: dict[str, Played] = {}
        async with _temporary_folder(self._clock) as folder:
            for wave in _WAVES:
                await _all(
                    self._play_on(folder, venue, chosen, played)
                    for venue in wave
                    if (chosen := [scenario for scenario in scenarios if scenario.venue is venue])
                )
        return [played[scenario.name] for scenario in scenarios]

    async def _play_on(
        self, folder: Path, venue: Venue, scenarios: Sequence[Scenario], played: dict[str, Played]
    ) -> None:
        self._watcher.starts(scenarios)
        place = folder / venue.value
        place.mkdir()
        sections = dict(_SECTIONS[venue])
        if venue is Venue.CASE_STUDY and self._triage is not None:
            sections["triage"] = self._triage
        stage = Stage(
            sections=sections,
            folder=place,
            imports_from=self._folder,
            clock=self._clock,
            chance=self._chance,
        )
        async with stage.open():
            if venue in _WAVES[0]:
                await stage.warm_up()

            async def play_one(number: int, scenario: Scenario) -> None:
                played[scenario.name] = await self._play(stage, scenario, number)
                self._watcher.played(played[scenario.name])

            await _all(play_one(number, scenario) for number, scenario in enumerate(scenarios))

    async def _play(self, stage: Stage, scenario: Scenario, number: int) -> Played:
        contact = f"55119999{number:05d}"
        play = Play(stage, contact=contact, name=_CUSTOMERS[number % len(_CUSTOMERS)])
        self._watcher.plays(scenario)
        began = self._clock.monotonic()
        try:
            await scenario.act(play)
        except ScenarioStuck as stuck:
            what, _, found = str(stuck).partition("; found: ")
            play.expectations.append(Expectation(what=what, held=False, found=found))
        seconds = self._clock.monotonic() - began
        return Played(
            name=scenario.name,
            shows=scenario.shows,
            moments=await read_moments(play),
            expectations=tuple(play.expectations),
            timings=tuple(play.timings),
            seconds=seconds,
        )


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All at once. The first failure, or Ctrl-C, ends the others, and waits until they have tidied up."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _temporary_folder(clock: Clock) -> AsyncGenerator[Path]:
    """A folder that is gone afterwards, even when a process that was stopped at its start still writes there."""
    folder = Path(tempfile.mkdtemp(prefix="onevoice-simulate-"))
    try:
        yield folder
    finally:
        for _ in range(REMOVALS_MAX):
            if await asyncio.to_thread(_remove, folder):
                break
            await clock.sleep(REMOVAL_PAUSE_SECONDS)


def _remove(folder: Path) -> bool:
    """Whether nothing of it is left."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
