"""Turns what a customer typed into words that rules can read.

Lower case, no accents, abbreviations spelled out, lengthened letters shortened; marks, laughter and emojis
are counted, not kept. Work is bounded: only the beginning and the end of a very long text are read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TEXT_CHARS_MAX: Final = 600

_DISTINCT: Final = {"é": "eh", "eh": "eh", "él": "ehl"}
"""Words that would become another word without their accent."""
_MEDIA = re.compile(r"^\s*(?:\[[^\]\n]{1,40}\]\s*)+")
_APOSTROPHES = re.compile("(?<=\\w)['’`´](?=\\w)")
_ENGLISH_ENDINGS: Final = (("'re", " are"), ("'ll", " will"), ("'ve", " have"), ("'d", " would"))
"""Spelled out while the apostrophe still tells "we're" from "were"."""
_REPEATED = re.compile(r"([^\W\d_])\1{2,}")
_LAUGH = re.compile(
    r"(?:k{3,}|(?:rs){1,}|(?:h[aeiu]){2,}h?|(?:j[aeiu]){2,}j?|(?:ah){2,}a?|(?:ks){2,}|lol+|lmao+|kk|jj+|xd+|hue)"
)
_WORD = re.compile(r"\d+(?:[.,:/]\d+)*\w*|[^\W_]+(?:-[^\W\d_]+)*")
_CLAUSE_END = re.compile(r"[,.](?!\d)|[;!?\n…]+|\s[-–—]\s")
_NEGATIVE_EMOJIS: Final = frozenset("👎😡😠🤬💔❌🚫🙄😤😒🤦😭😢😞😔😩😫🤮🙃")


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One side's words, and the marks that were around them."""

    clauses: tuple[tuple[str, ...], ...]
    """The words between one mark and the next, never empty."""
    questions: int
    exclamations: int
    laughs: int
    starred: bool
    shouted: bool
    media: bool
    money: bool
    positive_emojis: int
    """Emojis that do not complain; most are a nod or good cheer."""
    negative_emojis: int
    accented: frozenset[str]
    """Words whose last letter lost its accent: in Spanish mostly a preterite or a future."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for clause in self.clauses for word in clause)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read(text: str, abbreviations: Mapping[str, str]) -> Utterance:
    """Read one text; any string at all is accepted."""
    text = unicodedata.normalize("NFC", shorten(text))
    stripped = _MEDIA.sub("", text)
    clauses: list[tuple[str, ...]] = []
    accented: set[str] = set()
    laughs = 0
    for part in _CLAUSE_END.split(stripped):
        clause: list[str] = []
        for typed in _split(part):
            if _LAUGH.fullmatch(typed):
                laughs += 1
                continue
            raw = _REPEATED.sub(r"\1", typed)
            words = _plain(raw, abbreviations)
            if len(raw) > 3 and raw[-1] in "éíó":
                accented.update(words)
            clause.extend(words)
        if clause:
            clauses.append(tuple(clause))
    letters = [character for character in stripped if character.isalpha()]
    return Utterance(
        clauses=tuple(clauses),
        questions=stripped.count("?"),
        exclamations=stripped.count("!"),
        laughs=laughs,
        starred=stripped.startswith("*") or stripped.rstrip().endswith("*") or "* " in stripped,
        shouted=len(letters) > 7 and all(character.isupper() for character in letters),
        media=stripped != text,
        money="$" in stripped or "€" in stripped or "£" in stripped,
        positive_emojis=sum(
            unicodedata.category(character) == "So" and character not in _NEGATIVE_EMOJIS
            for character in stripped
        ),
        negative_emojis=sum(character in _NEGATIVE_EMOJIS for character in stripped),
        accented=frozenset(accented),
    )


def shorten(text: str) -> str:
    """Keep the beginning and the end of a long text, where people say what they want."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    half = TEXT_CHARS_MAX // 2
    return f"{text[:half]} {text[-half:]}"


def _split(text: str) -> list[str]:
    lowered = text.lower().replace("’", "'")
    if "'" in lowered:
        for short, full in _ENGLISH_ENDINGS:
            lowered = re.sub(rf"(?<=[a-z]){short}\b", full, lowered)
    lowered = _APOSTROPHES.sub("", lowered)
    return _WORD.findall(lowered)


def _plain(raw: str, abbreviations: Mapping[str, str]) -> list[str]:
    if raw in _DISTINCT:
        return [_DISTINCT[raw]]
    bare = "".join(
        character for character in unicodedata.normalize("NFD", raw) if not unicodedata.combining(character)
    )
    return abbreviations.get(bare, bare).split()
