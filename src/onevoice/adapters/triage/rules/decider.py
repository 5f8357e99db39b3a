"""Decides offline, in Portuguese, Spanish and English, what becomes of a reply that a newer message overtook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onevoice.adapters.triage.rules.features import Exchange, read_exchange, signs_of
from onevoice.adapters.triage.rules.lexicon import LANGUAGES, guess_language, lexicon_of
from onevoice.adapters.triage.rules.likeness import content_stems
from onevoice.adapters.triage.rules.normalise import shorten
from onevoice.adapters.triage.rules.weights import ORDER, Weights, fitted_weights, least_costly
from onevoice.vocabulary import TriageDecision, TriageRequest

_TEXTS_MAX: Final = 8
_SURE: Final = 0.5
_SIGNS_TOLD: Final = 4
_WORDLESS: Final = {
    "only_positive_emojis": TriageDecision.RELEASE_FIRST,
    "only_laughs": TriageDecision.RELEASE_FIRST,
    "only_question_marks": TriageDecision.RELEASE_FIRST,
    "only_media": TriageDecision.MERGE,
    "nothing_said": TriageDecision.MERGE,
}
_TAKING_BACK: Final = frozenset(("retract", "no_need", "cancels_clause", "refuses_a"))
_KEEPING: Final = frozenset(("keep", "keeps_clause"))


class RulesDecider:
    """The decider that needs no network: signs of speech, weighed."""

    name: str = "rules"

    def __init__(self) -> None:
        """Load every language now, so that no customer's message waits for it."""
        for language in LANGUAGES:
            lexicon_of(language)
        guess_language(())
        fitted_weights()

    async def decide(self, request: TriageRequest) -> TriageDecision:
        decision, _ = decide_by_rules(request)
        return decision

    async def close(self) -> None:
        """Nothing is open."""


def decide_by_rules(request: TriageRequest, *, weights: Weights | None = None) -> tuple[TriageDecision, str]:
    """Decide, and say which signs spoke for it. Never raises on any text; the reason quotes none.

    Several newer texts are read together and one by one: the latest that takes A back wins, unless a
    later one takes that back again. ``weights`` are the shipped ones unless given.
    """
    weights = weights or fitted_weights()
    overtaken, reply, newer = (_bound(texts) for texts in (request.overtaken, request.reply, request.newer))
    lexicon = lexicon_of(guess_language((*overtaken, *reply, *newer)))
    whole = _judge(read_exchange(overtaken, reply, newer, lexicon), weights)
    if len(newer) < 2:
        return whole.decision, whole.reason
    singles = [_judge(read_exchange(overtaken, reply, (text,), lexicon), weights) for text in newer]
    return _combine(whole, singles)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    decision: TriageDecision
    chance: float
    signs: frozenset[str]
    reason: str
    stands_alone: bool
    """Half a sentence of function words ("e vocês") only means something with the rest."""


def _bound(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten(text) for text in texts[-_TEXTS_MAX:])


def _judge(exchange: Exchange, weights: Weights) -> _Judgement:
    signs = signs_of(exchange)
    matter = content_stems(exchange.newer.words, exchange.lexicon)
    stands_alone = bool(matter or signs & {"digits", "only_media"})
    for sign, decision in _WORDLESS.items():
        if sign in signs:
            reason = f"{decision.value}: {sign}"
            return _Judgement(
                decision=decision, chance=1.0, signs=signs, reason=reason, stands_alone=stands_alone
            )
    chances = weights.chances(signs)
    decision = least_costly(chances)
    chance = chances[ORDER.index(decision)]
    reason = f"{decision.value} {chance:.2f}: {_told(weights, signs, decision)}"
    return _Judgement(decision=decision, chance=chance, signs=signs, reason=reason, stands_alone=stands_alone)


def _told(weights: Weights, signs: frozenset[str], decision: TriageDecision) -> str:
    return ", ".join(weights.strongest(signs, decision, count=_SIGNS_TOLD)) or "no sign for another decision"


def _combine(whole: _Judgement, singles: Sequence[_Judgement]) -> tuple[TriageDecision, str]:
    cancelling = [
        place
        for place, single in enumerate(singles)
        if single.decision is TriageDecision.CANCEL_FIRST and single.chance >= _SURE
    ]
    if cancelling:
        latest = cancelling[-1]
        if any(_turns_back(singles[place], later) for place in cancelling for later in singles[place + 1 :]):
            return TriageDecision.MERGE, "merge: a later message takes the retraction back"
        return (
            TriageDecision.CANCEL_FIRST,
            f"{singles[latest].reason} (message {latest + 1} of {len(singles)})",
        )
    decisions = {single.decision for single in singles}
    if decisions == {TriageDecision.RELEASE_FIRST}:
        return TriageDecision.RELEASE_FIRST, "release_first: no message alone touches the reply"
    needs_merge = any(
        single.decision is TriageDecision.MERGE and single.chance >= _SURE and single.stands_alone
        for single in singles
    )
    if whole.decision is TriageDecision.RELEASE_FIRST and needs_merge:
        return TriageDecision.MERGE, "merge: one of the messages belongs to what the reply answers"
    return whole.decision, whole.reason


def _turns_back(cancelling: _Judgement, later: _Judgement) -> bool:
    """Whether a later message points the other way: kept after a retraction, or retracted after a keep."""
    if cancelling.signs & _TAKING_BACK and not cancelling.signs & _KEEPING:
        return bool(later.signs & _KEEPING) and not later.signs & _TAKING_BACK
    if cancelling.signs & _KEEPING and "a_cancel" in cancelling.signs:
        return bool(later.signs & {"cancels_clause"}) and not later.signs & _KEEPING
    return False
