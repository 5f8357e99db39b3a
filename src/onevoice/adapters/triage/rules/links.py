"""What ties B to A and to the reply: words it repeats, refuses, undoes or puts right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.likeness import content_stems, is_respelling, stem, undoes
from onevoice.adapters.triage.rules.normalise import Utterance


def link_signs(earlier: Utterance, reply: Utterance, newer: Utterance, lexicon: Lexicon) -> Iterator[str]:
    """Name what ties B to A and the reply: words repeated, refused, undone or put right."""
    asked = content_stems(earlier.words, lexicon)
    said = asked | content_stems(reply.words, lexicon)
    now = content_stems(newer.words, lexicon)
    if now & asked:
        yield "repeats_a"
    if now & (said - asked):
        yield "repeats_reply"
    if now and not now & said:
        yield "nothing_repeated"
    if undoes(asked, now):
        yield "undoes"
    if _negates(newer.words, said, lexicon):
        yield "negates_a"
    if any(_refuses(clause, said, lexicon) for clause in newer.clauses):
        yield "refuses_a"
    if _negated_after(newer, said, lexicon):
        yield "negated_after"
    yield from _value_signs(earlier, reply, newer, lexicon)
    known = (*earlier.words, *reply.words)
    if any(is_respelling(word, known) for word in newer.words) and len(newer.words) <= 4:
        yield "respelling"


def _value_signs(earlier: Utterance, reply: Utterance, newer: Utterance, lexicon: Lexicon) -> Iterator[str]:
    """Numbers and times, the same or others than before."""
    numbers = [word for word in newer.words if word[0].isdigit()]
    before = [word for word in (*earlier.words, *reply.words) if word[0].isdigit()]
    if numbers and before and len(newer.words) <= 6 and not set(numbers) <= set(before):
        yield "other_number"
    times = lexicon.words["time"] & set(newer.words)
    said_times = lexicon.words["time"] & {*earlier.words, *reply.words}
    if times and said_times and times - said_times:
        yield "other_time"
    if times & said_times:
        yield "same_time"


def _negates(words: Sequence[str], said: frozenset[str], lexicon: Lexicon) -> bool:
    """A negation whose verb A or the reply used: "não envia" after "pode enviar"."""
    for place, word in enumerate(words):
        if word in lexicon.words["negation"]:
            following = [w for w in words[place + 1 : place + 5] if w not in lexicon.words["clitic"]][:1]
            if any(stem(w, lexicon.language) in said for w in following):
                return True
    return False


def _refuses(clause: Sequence[str], said: frozenset[str], lexicon: Lexicon) -> bool:
    """A clause that opens with a negated act of A: "não envia", "don't book it"."""
    start = next((place for place, word in enumerate(clause) if word not in lexicon.words["filler"]), 0)
    opening = clause[start : start + 7]
    negations = lexicon.words["negation"]
    return any(word in negations for word in opening[:4]) and _negates(opening, said, lexicon)


def _negated_after(newer: Utterance, said: frozenset[str], lexicon: Lexicon) -> bool:
    """A word of A set aside by a negation after it: "terça não"."""
    words = newer.words
    return any(
        word in lexicon.words["negation"]
        and place > 0
        and (stem(words[place - 1], lexicon.language) in said or words[place - 1] in lexicon.words["time"])
        for place, word in enumerate(words)
    )
