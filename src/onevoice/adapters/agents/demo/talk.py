"""What the talk so far says: what was asked last, which times were offered, what is on the open order.

It is read from the history, which holds what the customer really saw: a reply that was discarded on
the way has asked nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from onevoice.adapters.agents.demo.answers import QUESTIONS, TEXTS, Question
from onevoice.adapters.agents.demo.days import days_in
from onevoice.adapters.agents.demo.orders import items_in
from onevoice.vocabulary import HistoryItem

_DATE = re.compile(r"\((\d\d/\d\d)\)")
_TIME = re.compile(r"\b(\d\d):(\d\d)\b")
_ORDER_ENDS = tuple(
    text.partition("{")[0]
    for key in ("ordered", "order_cancelled", "declined")
    for text in TEXTS[key].values()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A day the assistant named, with the times after it; none when it only spoke of the day."""

    day: date
    times: tuple[time, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """``question`` is what the assistant last asked, ``offers`` the days and times it named."""

    question: Question | None = None
    offers: tuple[Offer, ...] = ()
    open_items: tuple[str, ...] = ()


def read_talk(history: Sequence[HistoryItem], *, now: datetime) -> Talk:
    """Read the talk up to the burst; a human who spoke last has left no question of ours open."""
    spoken = [item for item in history if item.role in ("assistant", "operator")]
    last = spoken[-1].text if spoken and spoken[-1].role == "assistant" else ""
    return Talk(question=_question(last), offers=_offers(last, now.date()), open_items=_open_items(history))


def _offers(text: str, today: date) -> tuple[Offer, ...]:
    """Each date in brackets with the times up to the next one."""
    _, *pieces = _DATE.split(text)
    found = list[Offer]()
    for written, after in zip(pieces[::2], pieces[1::2], strict=True):
        times = tuple(time(int(hour), int(minute)) for hour, minute in _TIME.findall(after))
        found += [Offer(day=day, times=times) for day in days_in(written, today=today)]
    return tuple(found)


def _question(text: str) -> Question | None:
    for question, wordings in QUESTIONS.items():
        if any(wording in text for wording in wordings.values()):
            return question
    return None


def _open_items(history: Sequence[HistoryItem]) -> tuple[str, ...]:
    items = list[str]()
    for item in history:
        if item.role == "customer":
            items += items_in(item.text)
        elif any(ending in item.text for ending in _ORDER_ENDS):
            items.clear()
    return tuple(dict.fromkeys(items))
