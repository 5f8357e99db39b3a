"""What stood before B: the kind of A, and what the waiting reply does with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.likeness import content_stems
from onevoice.adapters.triage.rules.normalise import Utterance
from onevoice.adapters.triage.rules.questions import is_question, starts_with_question_word

_REQUEST_START_CHARS_MAX: Final = 12


def earlier_signs(earlier: Utterance, last: Utterance, lexicon: Lexicon) -> Iterator[str]:
    """Name what A is: question, order, cancellation, complaint, greeting, or cut off in the middle."""
    if is_question(earlier, lexicon):
        yield "a_question"
    if any(starts_with_question_word(clause, lexicon) for clause in earlier.clauses):
        yield "a_question_word"
    for name in ("cancel_word", "problem_word"):
        if lexicon.patterns[name].search(earlier.text):
            yield f"a_{name.removesuffix('_word')}"
    if _requests(earlier, lexicon):
        yield "a_request"
    yield from _last_words_signs(earlier, last, lexicon)


def _last_words_signs(earlier: Utterance, last: Utterance, lexicon: Lexicon) -> Iterator[str]:
    words = last.words
    if not words:
        yield "a_empty"
    elif not content_stems(words, lexicon) or lexicon.patterns["greeting"].fullmatch(earlier.text):
        yield "a_no_content"
    if (
        words
        and words[-1] in lexicon.words["preposition"] | lexicon.words["article"] | lexicon.lists["cut_off"]
    ):
        yield "a_dangling"
    if 0 < len(words) <= 3:
        yield "a_short"
    if words and lexicon.words["negation"] & set(words):
        yield "a_negated"
    if not (lexicon.words["verb"] | lexicon.words["action"]) & set(words):
        yield "a_no_verb"


def reply_signs(reply: Utterance, lexicon: Lexicon) -> Iterator[str]:
    """Name what the waiting reply does: asks, confirms a deed, answers, names a price."""
    if reply.questions:
        yield "r_asks"
    for name, pattern in lexicon.reply_patterns.items():
        if pattern.search(reply.text):
            yield f"r_{name}"
    opening = reply.words[:2]
    if any(word in lexicon.lists["yes_or_no"] or lexicon.shapes["we_do"].fullmatch(word) for word in opening):
        yield "r_answers"
    if reply.money:
        yield "r_price"
    if any(lexicon.shapes["participle"].fullmatch(word) for word in reply.words[:6]):
        yield "r_participle"


def _requests(utterance: Utterance, lexicon: Lexicon) -> bool:
    """Whether some clause opens with an order or a wish."""
    found = (lexicon.patterns["request_word"].search(" ".join(clause)) for clause in utterance.clauses)
    return any(match is not None and match.start() <= _REQUEST_START_CHARS_MAX for match in found)


def kind_of_earlier(signs: frozenset[str]) -> Iterator[str]:
    """Whether A asked for knowledge or for a deed; the reply tells what its form leaves open."""
    did = bool(signs & {"r_confirms", "r_participle"}) and not signs & {
        "r_answers",
        "r_price",
        "a_question_word",
    }
    if "a_question" in signs and not ("a_request" in signs and did) and ("r_answers" in signs or not did):
        yield "asked"
    elif signs & {"a_request", "a_cancel", "a_no_verb"} or did:
        yield "ordered"
