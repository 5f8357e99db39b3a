"""The clinic's book of appointments and café orders: in memory, the same for the same calls, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from hashlib import blake2b

from onevoice.adapters.agents.demo.days import Period

MORNING = tuple(time(hour, minute) for hour in range(8, 12) for minute in (0, 30))
AFTERNOON = tuple(time(hour, minute) for hour in range(14, 18) for minute in (0, 30))
FREE_PER_HALF_DAY = 4
SATURDAY, SUNDAY = 5, 6
DAYS_KEPT = 7


class Tool(StrEnum):
    BOOK = "book_appointment"
    MOVE = "move_appointment"
    CANCEL = "cancel_appointment"
    PLACE_ORDER = "place_order"
    CANCEL_ORDER = "cancel_order"


class Unavailable(ValueError):
    """The write cannot be done as asked; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment:
    day: date
    at: time


class Book:
    """One appointment and one order per contact. ``write`` is the only way to change it."""

    def __init__(self) -> None:
        self._appointments: dict[str, Appointment] = {}
        self._orders: dict[str, tuple[str, ...]] = {}

    def appointment_of(self, contact: str, *, now: datetime) -> Appointment | None:
        """The contact's appointment, unless it is over."""
        found = self._appointments.get(contact)
        return found if found is not None and _starts(found, now) > now else None

    def order_of(self, contact: str) -> tuple[str, ...]:
        return self._orders.get(contact, ())

    def free_times(self, day: date, *, now: datetime, period: Period | None = None) -> tuple[time, ...]:
        """Free times of that day which are still to come, earliest first."""
        taken = {booked.at for booked in self._appointments.values() if booked.day == day}
        return tuple(
            moment
            for moment in _offered_times(day, period)
            if moment not in taken and _starts(Appointment(day=day, at=moment), now) > now
        )

    def next_open_day(self, day: date, *, now: datetime, period: Period | None = None) -> date:
        """The first day from ``day`` on with a free time; with none in ``period``, with any."""
        days = [day + timedelta(days=offset) for offset in range(DAYS_KEPT * 2)]
        for wanted in (period, None):
            for candidate in days:
                if self.free_times(candidate, now=now, period=wanted):
                    return candidate
        return days[-1]

    def write(self, contact: str, tool: str, args: dict[str, object]) -> dict[str, object]:
        """Do what the tool says and return its result; raises ``Unavailable`` when it cannot be done."""
        if tool in (Tool.BOOK, Tool.MOVE):
            return self._settle_on(contact, _appointment(args))
        if tool == Tool.CANCEL:
            cancelled = self._appointments.pop(contact, None)
            if cancelled is None:
                raise Unavailable("there is no appointment to cancel")
            return _told(cancelled)
        if tool == Tool.PLACE_ORDER:
            items = args["items"]
            if not isinstance(items, list) or not items:
                raise Unavailable("the order has no items")
            self._orders[contact] = tuple(str(item) for item in items)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON.
            return {"items": list(self._orders[contact])}
        if tool == Tool.CANCEL_ORDER:
            return {"items": list(self._orders.pop(contact, ()))}
        raise Unavailable(f"there is no tool {tool}")

    def _settle_on(self, contact: str, wanted: Appointment) -> dict[str, object]:
        """Booking the same time again changes nothing, so that a repeated turn is harmless."""
        for other, booked in self._appointments.items():
            if booked == wanted and other != contact:
                raise Unavailable("that time was taken meanwhile")
        if wanted.at not in _offered_times(wanted.day, None):
            raise Unavailable("the clinic does not offer that time")
        self._forget_before(wanted.day - timedelta(days=DAYS_KEPT * 8))
        self._appointments[contact] = wanted
        return _told(wanted)

    def _forget_before(self, day: date) -> None:
        over = [contact for contact, booked in self._appointments.items() if booked.day < day]
        for contact in over:
            del self._appointments[contact]


def _offered_times(day: date, period: Period | None) -> tuple[time, ...]:
    """A few times of each half day, spread by the date; Saturday has a morning, Sunday nothing."""
    halves = {Period.MORNING: MORNING, Period.AFTERNOON: AFTERNOON}
    if day.weekday() >= SATURDAY:
        del halves[Period.AFTERNOON]
    if day.weekday() == SUNDAY:
        halves.clear()
    offered = list[time]()
    for half, times in halves.items():
        if period in (None, half):
            mixed = sorted(times, key=lambda moment: blake2b(f"{day} {moment}".encode()).digest())
            offered += sorted(mixed[:FREE_PER_HALF_DAY])
    return tuple(offered)


def _starts(appointment: Appointment, now: datetime) -> datetime:
    return datetime.combine(appointment.day, appointment.at, tzinfo=now.tzinfo)


def _appointment(args: dict[str, object]) -> Appointment:
    return Appointment(day=date.fromisoformat(str(args["day"])), at=time.fromisoformat(str(args["time"])))


def _told(appointment: Appointment) -> dict[str, object]:
    return {"day": appointment.day.isoformat(), "time": f"{appointment.at:%H:%M}"}
