"""Tells a question by its mark or, for those who type none, by its opening words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.normalise import Utterance

_ASKED_KINDS: Final = frozenset(
    (
        "tipo",
        "tamanho",
        "talla",
        "numero",
        "cor",
        "color",
        "modelo",
        "marca",
        "linea",
        "linha",
        "sabor",
        "precio",
        "tal",
    )
)
_NOT_ASKED: Final = {
    "pt": frozenset(
        ("sempre", "estava", "esta", "era", "antes", "combinado", "puder", "puderem", "der", "possivel")
    ),
    "es": frozenset(
        (
            "siempre",
            "estaba",
            "esta",
            "era",
            "antes",
            "quedamos",
            "puedas",
            "puedan",
            "pueda",
            "tengas",
            "posible",
            "sea",
        )
    ),
    "en": frozenset(("you", "a", "always", "i", "ever")),
}
"""Second words after which a question word opens no question: "como sempre", "cuando puedas", "what a"."""
_ENGLISH_INVERTED: Final = frozenset(
    (
        *("do", "does", "did", "is", "are", "was", "were", "am", "have", "has"),
        *("can", "could", "would", "will", "should", "may", "any"),
    )
)


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
        return second in lexicon.words["time"] | lexicon.words["verb"] | _ASKED_KINDS
    if first in lexicon.words["question"]:
        return second not in _NOT_ASKED[lexicon.language]
    if lexicon.language == "en":
        return first in _ENGLISH_INVERTED and second != "not"
    return lexicon.patterns["service_probe"].match(" ".join(words)) is not None


def starts_with_question_word(clause: Sequence[str], lexicon: Lexicon) -> bool:
    """What, when, where, how much: never an order, unlike "how do I …" and yes-or-no forms."""
    words = [word for word in clause if word not in lexicon.words["filler"]]
    return bool(words) and words[0] in lexicon.words["question"] - {"como", "how"} and _asks(clause, lexicon)
