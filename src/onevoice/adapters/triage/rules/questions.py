"""Tells a question by its mark or, for those who type none, by its opening words."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.normalise import Utterance


def is_question(utterance: Utterance, lexicon: Lexicon) -> bool:
    return utterance.questions > 0 or any(_asks(clause, lexicon) for clause in utterance.clauses)


def _asks(clause: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a clause is a question by its opening words alone."""
    skipped = lexicon.words["filler"] | {"e", "y", "and", "or", "ou", "o"}
    start = next((place for place, word in enumerate(clause) if word not in skipped), len(clause))
    words = clause[start:]
    if len(words) < 2:
        return False
    if words[-1] in lexicon.words["question"] - {"que", "como"}:
        return True
    return _opens_question(words, lexicon)


def _opens_question(words: Sequence[str], lexicon: Lexicon) -> bool:
    first, second = words[0], words[1]
    if first == "que":
        return second in lexicon.words["time"] | lexicon.words["verb"] | lexicon.lists["asked_kind"]
    if first in lexicon.words["question"]:
        return second not in lexicon.lists["not_asked"]
    if lexicon.language == "en":
        return first in lexicon.lists["inverted"] and second != "not"
    return lexicon.patterns["service_probe"].match(" ".join(words)) is not None


def starts_with_question_word(clause: Sequence[str], lexicon: Lexicon) -> bool:
    """What, when, where, how much: never an order, unlike "how do I …" and yes-or-no forms."""
    words = [word for word in clause if word not in lexicon.words["filler"]]
    return bool(words) and words[0] in lexicon.words["question"] - {"como", "how"} and _asks(clause, lexicon)
