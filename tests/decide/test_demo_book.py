"""The demo clinic's book and texts: the same times for the same day, and no sentence in one language only."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from onevoice.adapters.agents.demo.answers import QUESTIONS, TEXTS
from onevoice.adapters.agents.demo.book import Book, Tool, Unavailable
from onevoice.adapters.agents.demo.days import Period
from onevoice.adapters.agents.demo.words import Language

MONDAY = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).astimezone(ZoneInfo("America/Sao_Paulo"))
FRIDAY = MONDAY.date() + timedelta(days=4)


def test_every_half_day_has_free_times_and_the_same_ones_each_time() -> None:
    """For a year ahead: weekdays have both halves, Saturdays a morning, Sundays nothing."""
    book = Book()
    for offset in range(1, 366):
        day = MONDAY.date() + timedelta(days=offset)
        morning, afternoon = (
            len(book.free_times(day, now=MONDAY, period=half)) for half in (Period.MORNING, Period.AFTERNOON)
        )

        assert (morning, afternoon) == {5: (4, 0), 6: (0, 0)}.get(day.weekday(), (4, 4))
        assert book.free_times(day, now=MONDAY) == Book().free_times(day, now=MONDAY)


def test_times_that_have_passed_are_not_free() -> None:
    """Today only offers what is still to come, and an appointment that is over is none."""
    book = Book()
    later = MONDAY.replace(hour=15)
    evening = MONDAY.replace(hour=20)
    first = book.free_times(MONDAY.date(), now=MONDAY)[0]
    book.write("ana", Tool.BOOK, {"day": MONDAY.date().isoformat(), "time": f"{first:%H:%M}"})

    assert all(moment > later.time() for moment in book.free_times(MONDAY.date(), now=later))
    assert book.free_times(MONDAY.date(), now=evening) == ()
    assert book.next_open_day(MONDAY.date(), now=evening) == MONDAY.date() + timedelta(days=1)
    assert book.appointment_of("ana", now=MONDAY) is not None
    assert book.appointment_of("ana", now=evening) is None


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("cancel_appointment", {}),
        ("place_order", {"items": []}),
        ("place_order", {"items": "café"}),
        ("book_appointment", {"day": "2026-12-06", "time": "09:00"}),
        ("book_appointment", {"day": "2026-12-04", "time": "03:00"}),
        ("delete_everything", {}),
    ],
)
def test_a_write_that_cannot_be_done_changes_nothing(tool: str, args: dict[str, object]) -> None:
    """Closed days, unknown tools and empty orders are refused."""
    book = Book()
    with pytest.raises(Unavailable):
        book.write("ana", tool, args)

    assert book.appointment_of("ana", now=MONDAY) is None
    assert book.order_of("ana") == ()


def test_a_taken_time_is_refused_at_the_last_moment() -> None:
    """The write itself refuses what another contact has booked, whatever was read before; moving there too."""
    book = Book()
    args: dict[str, object] = {"day": FRIDAY.isoformat(), "time": "08:00"}
    book.write("ana", Tool.BOOK, args)
    for tool in (Tool.BOOK, Tool.MOVE):
        with pytest.raises(Unavailable, match="taken meanwhile"):
            book.write("rui", tool, args)

    assert book.write("ana", Tool.BOOK, args) == args
    assert book.appointment_of("rui", now=MONDAY) is None


def test_the_book_forgets_what_is_long_over() -> None:
    """Old appointments leave when new ones come, so that the book stays small."""
    book = Book()
    book.write("old", Tool.BOOK, {"day": FRIDAY.isoformat(), "time": "08:00"})
    later = FRIDAY + timedelta(days=70)
    free = book.free_times(later, now=MONDAY)[0]
    book.write("new", Tool.BOOK, {"day": later.isoformat(), "time": f"{free:%H:%M}"})

    assert book.appointment_of("old", now=MONDAY) is None


def test_every_text_exists_in_both_languages_with_the_same_gaps() -> None:
    """No sentence is missing in a language, and both fill in the same values."""
    for wordings in (*TEXTS.values(), *QUESTIONS.values()):
        assert set(wordings) == set(Language)
    for wordings in TEXTS.values():
        gaps = [{piece.split("}")[0] for piece in text.split("{")[1:]} for text in wordings.values()]
        assert gaps[0] == gaps[1]
