"""What a played scenario leaves behind: its moments, what had to hold, and the times. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# A hold is never shorter than configured; what comes after it costs a few milliseconds, more on a busy machine.
EARLY_MS_MAX = 25
LATE_MS_MAX = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the timeline, in milliseconds after the first webhook was posted."""

    ms: int
    who: str
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Something a scenario must show, and what it did show."""

    what: str
    held: bool
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When something must happen. ``published_ms`` is the case study's figure; ``ms`` is ours."""

    what: str
    about_ms: int
    ms: int | None
    published_ms: int | None = None

    @property
    def is_close(self) -> bool:
        if self.ms is None:
            return False
        return self.about_ms - EARLY_MS_MAX <= self.ms <= self.about_ms + LATE_MS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One scenario from its first webhook to its verdict."""

    name: str
    shows: str
    moments: tuple[Moment, ...]
    expectations: tuple[Expectation, ...]
    timings: tuple[Timing, ...]
    seconds: float

    def differences(self, *, strict_times: bool) -> list[str]:
        """Why it is not as it must be; empty when it is."""
        reasons = [
            f"{expectation.what}; found: {expectation.found}"
            for expectation in self.expectations
            if not expectation.held
        ]
        if strict_times:
            reasons += [
                f"{timing.what} at about {timing.about_ms} ms; found: {shown_ms(timing.ms)}"
                for timing in self.timings
                if not timing.is_close
            ]
        return reasons


def shown_ms(ms: int | None) -> str:
    return "never" if ms is None else f"{ms} ms"
