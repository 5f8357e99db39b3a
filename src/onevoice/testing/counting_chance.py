"""Ids a person can read and a run can repeat."""

from __future__ import annotations

from uuid import UUID

_VERSION_7_VARIANT_10 = 0x7000_8000_0000_0000_0000


class CountingChance:
    """Implements ports/chance.py: ids count up and sort, jitter stays the same.

    Give each test that shares a database its own ``series``.

    >>> chance = CountingChance(series=3)
    >>> str(chance.new_id()), str(chance.new_id()), chance.jitter()
    ('00000000-0003-7000-8000-000000000001', '00000000-0003-7000-8000-000000000002', 0.75)
    """

    def __init__(self, *, series: int = 0, jitter: float = 0.75) -> None:
        if not 0 <= series < 2**48:
            raise ValueError("series is a number of at most 48 bits")
        if not 0.5 <= jitter < 1.0:
            raise ValueError("jitter is a factor in [0.5, 1.0)")
        self._series = series
        self._jitter = jitter
        self._count = 0

    def new_id(self) -> UUID:
        self._count += 1
        return UUID(int=(self._series << 80) | _VERSION_7_VARIANT_10 | self._count)

    def jitter(self) -> float:
        return self._jitter
