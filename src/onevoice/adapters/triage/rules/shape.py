"""The form of B: how long it is, how it opens, which marks and kinds of word it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onevoice.adapters.triage.rules.cues import SOCIAL, has_verb
from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.normalise import Utterance
from onevoice.adapters.triage.rules.questions import is_question

_KINDS_TOLD: Final = ("time", "negation", "person", "addressee", "past_time")


def shape_signs(newer: Utterance, cues: frozenset[str], lexicon: Lexicon) -> Iterator[str]:
    """Name the form of B: its length and marks, how it opens, which kinds of word it holds."""
    words = newer.words
    if not words:
        yield from _wordless_signs(newer)
        return
    yield f"size_{_size(len(words))}"
    yield from _mark_signs(newer)
    if is_question(newer, lexicon):
        yield "question"
    yield from _opening_signs(words, lexicon)
    if any(word[0].isdigit() for word in words):
        yield "digits"
    for kind in _KINDS_TOLD:
        if lexicon.words[kind] & set(words):
            yield kind
    if not has_verb(newer, lexicon) and not cues & set(SOCIAL):
        yield "no_verb"


def _mark_signs(newer: Utterance) -> Iterator[str]:
    marks = {
        "question_mark": newer.questions,
        "laugh": newer.laughs,
        "positive_emoji": newer.positive_emojis,
        "negative_emoji": newer.negative_emojis,
        "starred": newer.starred,
        "shouted": newer.shouted,
        "media": newer.media,
    }
    yield from (name for name, seen in marks.items() if seen)


def _wordless_signs(newer: Utterance) -> Iterator[str]:
    if newer.positive_emojis and not newer.negative_emojis:
        yield "only_positive_emojis"
    elif newer.media:
        yield "only_media"
    elif newer.questions:
        yield "only_question_marks"
    elif newer.laughs:
        yield "only_laughs"
    else:
        yield "nothing_said"


def _opening_signs(words: Sequence[str], lexicon: Lexicon) -> Iterator[str]:
    start = 0
    while start < len(words) - 1 and words[start] in lexicon.words["filler"]:
        start += 1
    opening = words[start:]
    first, second = opening[0], opening[1] if len(opening) > 1 else ""
    if first in ("e", "y", "and"):
        yield "starts_and"
        first = second
    yield from _subject_signs(first, second, opening, lexicon)
    kinds = {
        "starts_preposition": lexicon.words["preposition"] - lexicon.words["article"],
        "starts_negation": lexicon.words["negation"],
        "starts_number": lexicon.words["number"],
        "starts_verb": lexicon.words["verb"],
        "starts_question": lexicon.words["question"],
    }
    yield from (name for name, kind in kinds.items() if first in kind)
    if first[:1].isdigit():
        yield "starts_number"
    if first in lexicon.lists["copula"] and second not in ("que", "not"):
        yield "starts_copula"
    if words[-1] in lexicon.words["negation"]:
        yield "ends_negation"


def _subject_signs(first: str, second: str, opening: Sequence[str], lexicon: Lexicon) -> Iterator[str]:
    person = lexicon.words["person"]
    determiners = lexicon.words["article"] | lexicon.words["possessive"] | lexicon.words["demonstrative"]
    if first in person or (first in lexicon.words["possessive"] and second in person):
        yield "starts_person"
    elif first in determiners:
        has_predicate = any(word in lexicon.words["verb"] for word in opening[2:8])
        yield "starts_subject" if has_predicate else "starts_determiner"


def _size(count: int) -> str:
    for limit in (1, 3, 6, 10):
        if count <= limit:
            return str(limit)
    return "many"
