"""Days and times of day as customers write them, counted from the day of their message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, time, timedelta
from enum import StrEnum

OPENS_HOUR = 8

_WEEKDAYS = {
    "segunda": 0, "seg": 0, "monday": 0, "mon": 0,
    "terca": 1, "tuesday": 1, "tue": 1, "tues": 1,
    "quarta": 2, "qua": 2, "wednesday": 2, "wed": 2,
    "quinta": 3, "qui": 3, "thursday": 3, "thu": 3, "thurs": 3,
    "sexta": 4, "sex": 4, "friday": 4, "fri": 4,
    "sabado": 5, "sab": 5, "saturday": 5, "sat": 5,
    "domingo": 6, "dom": 6, "sunday": 6, "sun": 6,
}  # fmt: skip

_DAY = re.compile(
    r"\b(?:(?P<weekday>" + "|".join(_WEEKDAYS) + r")(?:[ -]feira)?"
    r"|(?P<overmorrow>depois de amanha|day after tomorrow)"
    r"|(?P<tomorrow>amanha|tomorrow)"
    r"|(?P<today>hoje|today)"
    r"|(?P<next_week>semana que vem|proxima semana|next week)"
    r"|(?P<day>\d{1,2})/(?P<month>\d{1,2})"
    r"|(?:dia|the) (?P<number>\d{1,2})(?:st|nd|rd|th)?(?! ?(?:h|l|:|am|pm)))\b"
)

# A day the customer does not want: "sexta não posso", "não dá na sexta", "not friday".
_REFUSED_BEFORE = re.compile(
    r"\b(?:nao (?:posso|da|consigo|quero|rola)(?: mais)?(?: ir)?|not|can t|cannot|can not)"
    r"(?: (?:na|no|pra|para|on|do|make))*(?: it on)? ?$"
)
_REFUSED_AFTER = re.compile(
    r"^(?:[ -]feira)?,? (?:eu )?(?:nao(?: (?:posso|da|consigo|rola|vai dar)|$|[,.!?\n])|i can t|doesn t work)"
)

_EITHER = re.compile(r"^[ ,]*(?:feira )?(?:ou|or)(?: (?:na|no|on))? *$")

_NUMBERS = {
    "uma": 1, "duas": 2, "tres": 3, "quatro": 4, "cinco": 5, "oito": 8, "nove": 9, "dez": 10, "onze": 11,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
}  # fmt: skip

_TIMES = (
    re.compile(r"\b(?P<hour>[01]?\d|2[0-3]) ?(?::|h) ?(?P<minute>[0-5]\d)(?: ?(?P<half>am|pm))?\b"),
    re.compile(r"\b(?P<hour>[01]?\d|2[0-3]) ?(?:h|horas?)\b(?: e (?P<minute>meia))?"),
    re.compile(r"\b(?P<hour>1[0-2]|[1-9]) ?(?P<half>am|pm)\b"),
    re.compile(
        r"\b(?:as|at|umas|around) (?P<hour>\d{1,2}|" + "|".join(_NUMBERS) + r")\b(?! ?(?:h|:|/|am|pm))"
        r"(?: e (?P<minute>meia))?(?: (?:in the |da )?(?P<half>tarde|afternoon))?"
    ),
    re.compile(r"\b(?P<noon>meio dia|noon)\b"),
)

_PERIODS = (
    (re.compile(r"\b(?:de|da|pela|a|no periodo da)? ?\b(?:manha|morning|cedo|early)\b"), "morning"),
    (re.compile(r"\b(?<!mais )(?:tarde|tardinha|afternoon)\b"), "afternoon"),
    (re.compile(r"\b(?:noite|evening|night)\b"), "evening"),
)


class Period(StrEnum):
    MORNING = "morning"
    AFTERNOON = "afternoon"
    EVENING = "evening"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    day: date
    start: int
    end: int


def days_in(text: str, *, today: date) -> tuple[date, ...]:
    """The days the text asks for: the last one said, or several when the customer leaves the choice."""
    mentions = [
        _Mention(day=day, start=match.start(), end=match.end())
        for match in _DAY.finditer(text)
        if (day := _day(match, today)) is not None and not _is_refused(text, match)
    ]
    if not mentions:
        return ()
    chosen = [mentions[-1]]
    for earlier in reversed(mentions[:-1]):
        if not _EITHER.match(text[earlier.end : chosen[0].start]):
            break
        chosen.insert(0, earlier)
    return tuple(dict.fromkeys(mention.day for mention in chosen))


def times_in(text: str) -> tuple[time, ...]:
    """The times of day in the text, in the order they are said; small hours are afternoon hours."""
    found = {match.start(): match for pattern in reversed(_TIMES) for match in pattern.finditer(text)}
    return tuple(moment for start in sorted(found) if (moment := _time(found[start], text)) is not None)


def period_in(text: str) -> Period | None:
    """The last part of the day the text names."""
    found = [(match.start(), name) for pattern, name in _PERIODS for match in pattern.finditer(text)]
    return Period(max(found)[1]) if found else None


def _day(match: re.Match[str], today: date) -> date | None:
    if match["weekday"]:
        return today + timedelta(days=(_WEEKDAYS[match["weekday"]] - today.weekday()) % 7)
    if match["next_week"]:
        return today + timedelta(days=7 - today.weekday())
    for group, days in (("overmorrow", 2), ("tomorrow", 1), ("today", 0)):
        if match[group]:
            return today + timedelta(days=days)
    if match["number"]:
        return _next_day_numbered(int(match["number"]), today)
    return _next_date(int(match["day"]), int(match["month"]), today)


def _next_date(day: int, month: int, today: date) -> date | None:
    for year in (today.year, today.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _next_day_numbered(number: int, today: date) -> date | None:
    for offset in range(62):
        if (today + timedelta(days=offset)).day == number:
            return today + timedelta(days=offset)
    return None


def _is_refused(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 30]
    return bool(_REFUSED_BEFORE.search(before) or _REFUSED_AFTER.match(after))


def _time(match: re.Match[str], text: str) -> time | None:
    groups = match.groupdict()
    if groups.get("noon"):
        return time(12, 0)
    written = groups["hour"]
    hour = _NUMBERS.get(written) or int(written)
    half = groups.get("half")
    minute = {"meia": 30, None: 0}.get(groups.get("minute"))
    if minute is None:
        minute = int(groups["minute"])
    afternoon = half in ("pm", "tarde", "afternoon") or (half != "am" and _is_afternoon(text, match, hour))
    if half == "am" and hour == 12:
        hour = 0
    if afternoon and hour < 12:
        hour += 12
    return time(hour, minute) if hour < 24 else None


def _is_afternoon(text: str, match: re.Match[str], hour: int) -> bool:
    after = text[match.end() : match.end() + 14]
    return 0 < hour < OPENS_HOUR or bool(re.match(r" (?:da tarde|in the after|da noite)", after))
