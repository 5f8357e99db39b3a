"""Instants and durations as a reader wants them, in the browser's time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.http.webchat.texts import Language

__all__ = ["Times"]

_MONTHS = {
    "pt": ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"),
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """``now`` is the database's, or the test's: the same that the waiting times are compared with."""

    language: Language
    zone: tzinfo
    now: datetime

    def clock(self, moment: datetime) -> str:
        return f"{moment.astimezone(self.zone):%H:%M}"

    def day(self, moment: datetime) -> str:
        """Today, yesterday, or the date; the year only when it is another one."""
        local, today = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        if local.date() == today.date():
            return TEXTS[self.language]["today"]
        if local.date() == today.date() - timedelta(days=1):
            return TEXTS[self.language]["yesterday"]
        month = _MONTHS[self.language][local.month - 1]
        date = f"{local.day} {month}"
        return date if local.year == today.year else f"{date} {local.year}"

    def short(self, moment: datetime) -> str:
        """The time of today, else the day."""
        is_today = moment.astimezone(self.zone).date() == self.now.astimezone(self.zone).date()
        return self.clock(moment) if is_today else self.day(moment)

    def full(self, moment: datetime) -> str:
        return f"{self.day(moment)}, {self.clock(moment)}"

    def waited(self, since: datetime) -> str:
        """In the largest unit, rounded down: whoever waits 119 minutes waits 1 h."""
        seconds = max(0.0, (self.now - since).total_seconds())
        if seconds < 60:
            return TEXTS[self.language]["now"] if seconds < 10 else f"{int(seconds)} s"
        if seconds < 3600:
            return f"{int(seconds // 60)} min"
        if seconds < 48 * 3600:
            return f"{int(seconds // 3600)} h"
        return f"{int(seconds // 86400)} d"
