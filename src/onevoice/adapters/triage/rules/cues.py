"""What B does, read from the cue patterns of its language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.normalise import Utterance

SOCIAL: Final = (
    "thanks",
    "acknowledge",
    "praise",
    "sarcasm",
    "ping",
    "greeting",
    "patience",
    "later",
    "aside",
)
TAKES_BACK: Final = (
    "retract",
    "no_need",
    "postpones",
    "hold",
    "refuse",
    "keep",
    "wrong_chat",
    "cancels_clause",
    "keeps_clause",
    "refuses_a",
)
REASONS: Final = ("resolved", "already_done", "obstacle", "costly", "alternative", "third_party_past")
CARRIES_MORE: Final = (
    "reminder",
    "addition",
    "want",
    "request_at_start",
    "scope",
    "change_value",
    "purpose",
    "digits",
)

_SET_ASIDE: Final = ("reminder", "patience", "aside", "later", "topic_shift", "wrong_chat")
_POLITE: Final = ("thanks", "acknowledge", "greeting", "praise", "sarcasm", "ping")
_AT_CLAUSE_START: Final = ("cancels_clause", "keeps_clause")
_AT_START: Final = ("dismay",)


def cues_of(newer: Utterance, lexicon: Lexicon) -> frozenset[str]:
    """Name the cues in B; what is only politeness or an aside is read once, then set aside."""
    found: set[str] = set()
    text = newer.text
    for name in _SET_ASIDE:
        text, count = lexicon.patterns[name].subn("|", text)
        if count:
            found.add(name)
    if not newer.words:
        return frozenset()
    rest = " ".join(text.replace("|", " | ").split())
    skipped = {*_SET_ASIDE, *_AT_CLAUSE_START, *_AT_START}
    for name, pattern in lexicon.patterns.items():
        if (
            name not in skipped
            and (not name.endswith("_word") or name == "cancel_word")
            and pattern.search(rest)
        ):
            found.add(name)
    for name in ("retract", *_AT_START):
        if lexicon.patterns[name].match(rest):
            found.add(f"{name}_at_start")
    if lexicon.patterns["request_word"].match(_without_fillers(newer.words, lexicon)):
        found.add("request_at_start")
    found.update(_clause_cues(newer, lexicon))
    found.update(_politeness(rest, lexicon))
    found.update(_tense_cues(newer, lexicon))
    if "aside" in found:
        found.discard("third_party_past")
    return frozenset(found)


def has_verb(utterance: Utterance, lexicon: Lexicon) -> bool:
    """Whether anything looks like a verb; a fragment has none."""
    shapes = (lexicon.shapes["past"], lexicon.shapes["continuous"], lexicon.shapes["first_past"])
    return any(
        word in lexicon.words["verb"] | lexicon.words["action"]
        or (lexicon.language == "es" and word in utterance.accented and word not in lexicon.function_words)
        or (word not in lexicon.function_words and any(shape.fullmatch(word) for shape in shapes))
        for word in utterance.words
    )


def _without_fillers(words: Sequence[str], lexicon: Lexicon) -> str:
    start = 0
    while start < len(words) - 1 and words[start] in lexicon.words["filler"]:
        start += 1
    return " ".join(words[start:])


def _clause_cues(newer: Utterance, lexicon: Lexicon) -> Iterator[str]:
    for place, clause in enumerate(newer.clauses):
        said = _without_fillers(clause, lexicon)
        for name in _AT_CLAUSE_START:
            if lexicon.patterns[name].match(said):
                yield name
        negations = lexicon.words["negation"] & set(clause)
        if negations and set(clause) <= lexicon.words["negation"] | lexicon.words["filler"]:
            yield "says_no"
            if place == 0:
                yield "opens_with_no"
    if len(newer.clauses) > 1:
        yield "several_clauses"


def _politeness(rest: str, lexicon: Lexicon) -> Iterator[str]:
    """How much is left to say once politeness is taken away."""
    for name in _POLITE:
        rest = lexicon.patterns[name].sub("|", rest)
    left = [word for word in rest.split() if word != "|" and word not in lexicon.words["filler"]]
    matter = [word for word in left if word not in lexicon.function_words]
    if not left:
        yield "all_polite"
    elif not matter:
        yield "little_besides_politeness"
    elif len(matter) > 2:
        yield "much_besides_politeness"


def _tense_cues(newer: Utterance, lexicon: Lexicon) -> Iterator[str]:
    language = lexicon.language
    past, first_past = lexicon.shapes["past"], lexicon.shapes["first_past"]
    for clause in newer.clauses:
        if any(_is_third_past(word, newer, past, language) for word in clause[1:6]) and _has_subject(
            clause, lexicon
        ):
            yield "third_party_past"
            break
    words = newer.words
    if any(first_past.fullmatch(word) for word in words) or (
        language == "en" and any(one == "i" and past.fullmatch(two) for one, two in pairwise(words))
    ):
        yield "first_person_past"
    if any(first_past.fullmatch(clause[0]) for clause in newer.clauses):
        yield "tells_own_act"
    if _already_done(newer, lexicon):
        yield "already_done"
    if any(lexicon.shapes["continuous"].fullmatch(word) for word in words):
        yield "continuous"


def _already_done(newer: Utterance, lexicon: Lexicon) -> bool:
    """ "Já comprei", "ya lo pagué", "just bought one": a past act soon after the word for already."""
    words, past, first_past = newer.words, lexicon.shapes["past"], lexicon.shapes["first_past"]
    return any(
        past.fullmatch(later) is not None
        or first_past.fullmatch(later) is not None
        or (lexicon.language == "es" and later in newer.accented)
        for place, word in enumerate(words)
        if word in lexicon.lists["already"]
        for later in words[place + 1 : place + 4]
    )


def _is_third_past(word: str, newer: Utterance, past: re.Pattern[str], language: str) -> bool:
    return past.fullmatch(word) is not None or (
        language == "es" and word in newer.accented and word.endswith("o")
    )


def _has_subject(clause: Sequence[str], lexicon: Lexicon) -> bool:
    first = next((word for word in clause if word not in lexicon.words["filler"]), "")
    # A clause may open with whom something was done for: "me trajo", "nos trouxe".
    if first in lexicon.lists["beneficiary"]:
        return True
    determiners = lexicon.words["article"] | lexicon.words["possessive"] | lexicon.words["demonstrative"]
    return first in determiners or first in lexicon.words["person"]
