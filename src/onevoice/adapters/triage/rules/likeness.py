"""How two texts of the same conversation resemble each other: stems they share, values one corrects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from onevoice.adapters.triage.rules.lexicon import Lexicon

_ROMANCE_ENDING: Final = re.compile(
    r"(?:ariamos|eriamos|iriamos|assemos|aremos|eremos|iremos|ando|endo|indo|iendo|aram|eram|iram|aron|ieron|amos"
    r"|emos|imos|adas|ados|idas|idos|ada|ado|ida|ido|cao|coes|cion|ciones|ara|era|ira|ou|eu|iu|ei|ar|er|ir|am|em|an|en"
    r"|as|es|os|ao|a|e|o|i|s|la|lo|me)$"
)
_ENGLISH_ENDING: Final = re.compile(r"(?:ings?|ed|ers?|es|s|e|y)$")
_UNDOING: Final = ("des", "un", "dis")
_STEM_CHARS_MAX: Final = 6


def stem(word: str, language: str) -> str:
    """Cut a word's ending: forms of one verb or noun mostly meet; three letters always stay."""
    ending = _ENGLISH_ENDING if language == "en" else _ROMANCE_ENDING
    found = ending.search(word, 3) if len(word) > 4 else None
    return (word[: found.start()] if found else word)[:_STEM_CHARS_MAX]


def content_stems(words: Sequence[str], lexicon: Lexicon) -> frozenset[str]:
    """Stems of the words that carry matter, not grammar."""
    return frozenset(
        stem(word, lexicon.language)
        for word in words
        if len(word) > 2 and word not in lexicon.function_words and not word[0].isdigit()
    )


def undoes(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether one side names the reverse of the other: block and unblock, marcar and desmarcar."""
    return any(
        prefix + other[: _STEM_CHARS_MAX - len(prefix)] == one[:_STEM_CHARS_MAX]
        for one in first
        for other in second
        for prefix in _UNDOING
        if len(other) >= 4
    ) or any(
        prefix + one[: _STEM_CHARS_MAX - len(prefix)] == other[:_STEM_CHARS_MAX]
        for one in first
        for other in second
        for prefix in _UNDOING
        if len(one) >= 4
    )


def is_respelling(word: str, others: Sequence[str]) -> bool:
    """Whether a word is nearly, but not quite, one of the others: a typing error put right."""
    if len(word) < 4:
        return False
    return word not in others and any(
        abs(len(word) - len(other)) <= 1
        and len(other) >= 4
        and word[0] == other[0]
        and _is_one_edit(word, other)
        for other in others
    )


def _is_one_edit(first: str, second: str) -> bool:
    if len(first) < len(second):
        first, second = second, first
    start = 0
    while start < len(second) and first[start] == second[start]:
        start += 1
    if len(first) == len(second):
        swapped = first[start : start + 2] == second[start : start + 2][::-1]
        return first[start + 1 :] == second[start + 1 :] or (
            swapped and first[start + 2 :] == second[start + 2 :]
        )
    return first[start + 1 :] == second[start:]
