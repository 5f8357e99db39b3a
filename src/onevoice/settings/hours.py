"""When a policy applies: ``[outside] days from-to{, days from-to} zone``.

``mon-fri 09:00-18:00, sat 09:00-13:00 America/Sao_Paulo`` covers those hours; ``outside`` turns
it round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "(?:" + "|".join(DAYS) + ")"
_SPAN = re.compile(
    rf"(?P<days>daily|{_DAY}(?:-{_DAY})?)\s+(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)", re.ASCII | re.IGNORECASE
)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Some days (0 is Monday) from a minute to a minute; an end not after the start lies on the next day."""

    days: frozenset[int]
    start_minute: int
    end_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """The parsed form; ``outside`` turns it round."""

    spans: tuple[Span, ...]
    zone: ZoneInfo
    outside: bool

    def covers(self, at: datetime) -> bool:
        """Whether the policy applies at this instant (with a time zone)."""
        local = at.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        inside = any(_is_within(span, local.weekday(), minute) for span in self.spans)
        return inside is not self.outside


def parse_hours(text: str) -> Hours:
    """Read the form; raises ``ValueError`` with "what is wrong; what would be right"."""
    words = text.split()
    outside = bool(words) and words[0].lower() == "outside"
    words = words[1:] if outside else words
    if len(words) < 3:
        raise ValueError(
            "is too short; write days, hours and a time zone: mon-fri 09:00-18:00 America/Sao_Paulo"
        )
    zone = _zone(words[-1])
    spans = tuple(_span(part.strip()) for part in " ".join(words[:-1]).split(","))
    return Hours(spans=spans, zone=zone, outside=outside)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("ends in no known time zone; write one such as America/Sao_Paulo or UTC") from None


def _span(text: str) -> Span:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(
            "has a part that is not days and hours; "
            "write mon-fri 09:00-18:00, separated by commas, the zone once at the end"
        )
    start, end = _minute(found["start"]), _minute(found["end"])
    if start in {_DAY_MINUTES, end}:
        raise ValueError("has a part that covers nothing; daily 00:00-24:00 is the whole day")
    return Span(days=_days(found["days"].lower()), start_minute=start, end_minute=end)


def _minute(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > _DAY_MINUTES:
        raise ValueError("has a time that does not exist; write 00:00 to 24:00")
    return hour * 60 + minute


def _days(text: str) -> frozenset[int]:
    if text == "daily":
        return frozenset(range(7))
    first, _, last = text.partition("-")
    start, end = DAYS.index(first), DAYS.index(last or first)
    return frozenset((start + step) % 7 for step in range((end - start) % 7 + 1))


def _is_within(span: Span, weekday: int, minute: int) -> bool:
    if span.start_minute < span.end_minute:
        return weekday in span.days and span.start_minute <= minute < span.end_minute
    evening = weekday in span.days and minute >= span.start_minute
    morning = (weekday - 1) % 7 in span.days and minute < span.end_minute
    return evening or morning
