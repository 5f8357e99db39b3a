"""A text in parts that WhatsApp carries: cut where a reader pauses, in order, nothing lost but white space.

The limit is counted in UTF-16 code units: the API documents "characters" and not which. Code units are never
fewer than code points, so a part that fits in units fits either way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from onevoice.adapters.channels.whatsapp.format import format_text
from onevoice.adapters.channels.whatsapp.shape import clean

PART_UNITS_MAX: Final = 4096

# Non-breaking spaces are white space nobody should be cut at.
_GAP = re.compile(r"[^\S\u00a0\u202f\u2007]+")
_SENTENCE_ENDS: Final = frozenset(".!?…。！？")
_CLOSERS: Final = "\"'”’»)]*_~"
# How far back a cut may move to leave a cluster of joined characters whole; longer ones are no writing.
_CLUSTER_CHARS_MAX: Final = 64
_JOINER: Final = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)

_PARAGRAPH, _LINE, _SENTENCE, _WORD = range(4)


def split_text(text: str, units_max: int = PART_UNITS_MAX) -> Sequence[str]:
    """The formatted text in parts of at most ``units_max`` UTF-16 code units; none of them is blank."""
    rest = format_text(clean(text)).strip()
    parts: list[str] = []
    while rest:
        window = _window(rest, units_max)
        if window == len(rest):
            parts.append(rest)
            break
        place = _choose_cut(rest, window)
        parts.append(rest[:place].rstrip())
        rest = rest[place:].lstrip()
    return parts


def _window(text: str, units_max: int) -> int:
    """How many characters of the text fit; at least one, so that a limit below a pair still ends."""
    # A character takes one unit or two, so the first half of the limit fits for certain.
    head = text[:units_max].encode("utf-16-le")
    if len(head) <= 2 * units_max:
        return min(len(text), units_max)
    return max(1, len(head[: 2 * units_max].decode("utf-16-le", "ignore")))


def _choose_cut(text: str, window: int) -> int:
    """Where the first part ends: the best pause that fills a quarter of it, else any, else a hard cut."""
    last_filled: dict[int, int] = {}
    last_any: dict[int, int] = {}
    # Two more characters are read, so that a paragraph's end just behind the window is seen as one.
    for gap in _GAP.finditer(text, 0, window + 2):
        if not 0 < gap.start() <= window:
            continue
        rank = _rank(text, gap.start(), gap[0])
        last_any[rank] = gap.start()
        if gap.start() >= window // 4:
            last_filled[rank] = gap.start()
    for last in (last_filled, last_any):
        if last:
            return last[min(last)]
    return _hard_cut(text, window)


def _rank(text: str, start: int, gap: str) -> int:
    line_count = gap.count("\n")
    if line_count >= 2:
        return _PARAGRAPH
    if line_count == 1:
        return _LINE
    before = text[max(0, start - 8) : start].rstrip(_CLOSERS)
    return _SENTENCE if before and before[-1] in _SENTENCE_ENDS else _WORD


def _hard_cut(text: str, window: int) -> int:
    lowest = max(1, window - _CLUSTER_CHARS_MAX)
    for place in range(window, lowest - 1, -1):
        if not _is_inside_cluster(text, place):
            return place
    return window


def _is_inside_cluster(text: str, place: int) -> bool:
    """Whether what the reader sees as one character would be cut apart here."""
    before, after = text[place - 1], text[place]
    if _JOINER in {before, after} or unicodedata.category(after).startswith("M"):
        return True
    if ord(after) in _SKIN_TONES or ord(after) in _TAGS:
        return True
    if ord(after) not in _REGIONAL:
        return False
    # Flags are pairs: the cut is inside one when an odd number of their letters stands before it.
    start = place
    while start and ord(text[start - 1]) in _REGIONAL:
        start -= 1
    return (place - start) % 2 == 1
