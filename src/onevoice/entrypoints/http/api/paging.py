"""The two parameters of every list."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

PAGE_ITEMS_MAX = 200

CursorParameter = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
LimitParameter = Annotated[
    int, Query(ge=1, description=f"Items on a page; more than {PAGE_ITEMS_MAX} gives {PAGE_ITEMS_MAX}.")
]


def page_limit(limit: int) -> int:
    return min(limit, PAGE_ITEMS_MAX)
