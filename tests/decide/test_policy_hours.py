"""When a policy applies."""

from __future__ import annotations

from datetime import datetime

import pytest

from onevoice.settings import parse_hours

# 2026-11-30 is a Monday; São Paulo is three hours behind UTC.
BUSINESS = "mon-fri 09:00-18:00, sat 09:00-13:00 America/Sao_Paulo"


@pytest.mark.parametrize(
    ("hours", "at", "covers"),
    [
        (BUSINESS, "2026-11-30T12:00:00+00:00", True),
        (BUSINESS, "2026-11-30T11:59:59+00:00", False),
        (BUSINESS, "2026-11-30T20:59:59+00:00", True),
        (BUSINESS, "2026-11-30T21:00:00+00:00", False),
        (BUSINESS, "2026-12-05T15:59:00+00:00", True),
        (BUSINESS, "2026-12-05T16:00:00+00:00", False),
        (BUSINESS, "2026-12-06T15:00:00+00:00", False),
        (f"outside {BUSINESS}", "2026-12-06T15:00:00+00:00", True),
        (f"OUTSIDE {BUSINESS}", "2026-11-30T12:00:00+00:00", False),
        ("fri 22:00-02:00 UTC", "2026-12-04T23:00:00+00:00", True),
        ("fri 22:00-02:00 UTC", "2026-12-05T01:59:00+00:00", True),
        ("fri 22:00-02:00 UTC", "2026-12-05T02:00:00+00:00", False),
        ("fri 22:00-02:00 UTC", "2026-12-04T01:00:00+00:00", False),
        ("sun 22:00-02:00 UTC", "2026-11-30T01:00:00+00:00", True),
        ("fri-mon 00:00-24:00 UTC", "2026-11-30T23:59:59+00:00", True),
        ("fri-mon 00:00-24:00 UTC", "2026-12-01T00:00:00+00:00", False),
        ("daily 00:00-24:00 UTC", "2026-12-02T13:00:00+00:00", True),
        ("Mon 09:00-10:00 UTC", "2026-11-30T09:30:00+00:00", True),
    ],
)
def test_hours_cover_an_instant(hours: str, at: str, covers: bool) -> None:
    """Ends are exclusive, nights belong to the day they began on, `outside` turns it round."""
    assert parse_hours(hours).covers(datetime.fromisoformat(at)) is covers


@pytest.mark.parametrize(
    ("hours", "cause"),
    [
        ("", "is too short; "),
        ("outside", "is too short; "),
        ("mon-fri 09:00-18:00", "is too short; "),
        ("mon-fri 09:00-18:00 Sao_Paulo", "ends in no known time zone; "),
        ("mon-fri 09:00-18:00 ../../etc/passwd", "ends in no known time zone; "),
        ("mon-fri 09:00-18:00 America", "ends in no known time zone; "),
        ("seg-sex 09:00-18:00 UTC", "has a part that is not days and hours; "),
        ("mon-fri 9:00-18:00 UTC", "has a part that is not days and hours; "),
        ("mon 09:00-10:00,, tue 09:00-10:00 UTC", "has a part that is not days and hours; "),
        ("mon 09:00-24:01 UTC", "has a time that does not exist; "),
        ("mon 09:60-10:00 UTC", "has a time that does not exist; "),
        ("mon 24:00-10:00 UTC", "has a part that covers nothing; "),
        ("mon 09:00-09:00 UTC", "has a part that covers nothing; "),
    ],
)
def test_wrong_hours_say_what_would_be_right(hours: str, cause: str) -> None:
    """Each mistake has its sentence."""
    with pytest.raises(ValueError, match="; ") as caught:
        parse_hours(hours)
    assert str(caught.value).startswith(cause)
