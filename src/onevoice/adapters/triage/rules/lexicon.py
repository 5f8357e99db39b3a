"""The words and patterns of each language, read once from the data files beside this module."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, cast

LANGUAGES: Final = ("pt", "es", "en")

_PARTS: Final = ("words", "manners", "retraction", "matter")
_SIGNS: Final = {
    "pt": "não você vocês é está já até só também manhã amanhã às à para um uma do da no na em os as obrigado"
    " tem por mais quero sua seu dia as ao pelo sim isso ja ate hoje que muito ainda foi ser aqui",
    "es": "está qué cuándo cómo dónde cuánto más sí mañana el los las y en del con por para su un una lo le les es"
    " no que gracias hola ya muy pero hay hoy al si te nos tu se mas este de yo son fue dia",
    "en": "the you your is are i to for of and it my in on at we do not can will with that have this would what be"
    " please thanks was how get me if or from there yes hi any when am by up order",
}
_MARKS: Final = {"pt": "ãõçâêôà", "es": "ñ¿¡", "en": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """One language's function words and cue patterns."""

    language: str
    abbreviations: Mapping[str, str]
    words: Mapping[str, frozenset[str]]
    function_words: frozenset[str]
    lists: Mapping[str, frozenset[str]]
    shapes: Mapping[str, re.Pattern[str]]
    patterns: Mapping[str, re.Pattern[str]]
    reply_patterns: Mapping[str, re.Pattern[str]]


@cache
def lexicon_of(language: str) -> Lexicon:
    data: dict[str, dict[str, object]] = {}
    for part in _PARTS:
        source = (
            files(__spec__.parent).joinpath("lexicon", language, f"{part}.toml").read_text(encoding="utf-8")
        )
        for section, entries in cast("dict[str, dict[str, object]]", tomllib.loads(source)).items():
            data.setdefault(section, {}).update(entries)
    words = {name: frozenset(str(listed).split()) for name, listed in data["words"].items()}
    return Lexicon(
        language=language,
        abbreviations=MappingProxyType({name: str(full) for name, full in data["abbreviations"].items()}),
        words=MappingProxyType(words),
        function_words=frozenset(word for name in words if name != "action" for word in words[name]),
        lists=MappingProxyType(
            {name: frozenset(str(listed).split()) for name, listed in data["lists"].items()}
        ),
        shapes=MappingProxyType({name: re.compile(str(shape)) for name, shape in data["shapes"].items()}),
        patterns=_compile_all(data["patterns"]),
        reply_patterns=_compile_all(data["reply"]),
    )


def guess_language(texts: Sequence[str]) -> str:
    """The likeliest of the three languages; Portuguese when nothing tells."""
    joined = " ".join(texts).lower()
    words = re.findall(r"[^\W\d_]+", joined)
    shares = _word_shares()
    scores = {
        language: sum(shares[language].get(word, 0.0) for word in words)
        + 2 * sum(joined.count(mark) for mark in _MARKS[language])
        for language in LANGUAGES
    }
    return max(LANGUAGES, key=lambda language: scores[language])


@cache
def _word_shares() -> Mapping[str, Mapping[str, float]]:
    """How much each word speaks for a language: less when others have it too."""
    known = {
        language: {*_SIGNS[language].split(), *lexicon.abbreviations}.union(*lexicon.words.values())
        for language in LANGUAGES
        for lexicon in (lexicon_of(language),)
    }
    return {
        language: {word: 1 / sum(word in others for others in known.values()) ** 2 for word in words}
        for language, words in known.items()
    }


def _compile_all(section: Mapping[str, object]) -> Mapping[str, re.Pattern[str]]:
    return MappingProxyType({name: _compile(cast("list[str]", listed)) for name, listed in section.items()})


def _compile(listed: Sequence[str]) -> re.Pattern[str]:
    expanded = (
        re.sub(r"(?<=\w)(?<!\\w)\*", r"\\w*", pattern).replace("~ ", r"(?:\w+ ){0,3}") for pattern in listed
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(expanded)})(?!\w)")
