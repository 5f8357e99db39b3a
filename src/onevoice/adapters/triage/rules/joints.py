"""Signs that mean something only together, derived in order from those already found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from onevoice.adapters.triage.rules.cues import CARRIES_MORE, REASONS, SOCIAL, TAKES_BACK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joint:
    """A name given when all of these, one of those and none of the last are present."""

    name: str
    every: frozenset[str] = field(default=frozenset())
    some: frozenset[str] = field(default=frozenset())
    none: frozenset[str] = field(default=frozenset())

    def holds(self, signs: set[str]) -> bool:
        return self.every <= signs and (not self.some or bool(self.some & signs)) and not self.none & signs


def _joint(name: str, every: str = "", *, some: Iterable[str] = (), none: str = "") -> _Joint:
    return _Joint(
        name=name, every=frozenset(every.split()), some=frozenset(some), none=frozenset(none.split())
    )


_SCRATCH: Final = frozenset(("with_reason", "social", "says", "depends", "more"))
"""Names used only to derive others."""

_KINDS_OF_A: Final = ("a_no_content", "a_dangling", "a_short", "a_problem", "ordered", "asked", "r_asks")

_JOINTS: Final = (
    _joint("scoped_cancel", "scope a_cancel"),
    _joint("takes_back", some=TAKES_BACK, none="scoped_cancel"),
    _joint("with_reason", some=REASONS),
    _joint("social", some=SOCIAL),
    # A taken back, and why.
    _joint("gives_reason", "with_reason", none="question"),
    _joint("takes_back_with_reason", "takes_back with_reason"),
    _joint("takes_back_asking", "takes_back question"),
    _joint("takes_back_order", "takes_back ordered"),
    _joint("reason_after_problem", "with_reason a_problem"),
    _joint("reason_against_order", "with_reason ordered", none="question"),
    _joint("own_act_after_order", "tells_own_act ordered", none="question"),
    _joint("resolved_after_question", "resolved asked"),
    _joint("person_decides", "starts_person", some=("with_reason", "takes_back")),
    _joint("later_after_order", "later ordered"),
    _joint("shrinks_from_order", "ordered", some=("dismay_at_start", "opens_with_no")),
    _joint("cancels_after_order", some=("cancels_clause", "cancel_word"), none="a_cancel question"),
    _joint("keeps_after_cancel", "a_cancel keep"),
    _joint("turns_positive", "a_negated", some=("keep", "resolved")),
    # Courtesy, alone or with something to do.
    _joint("more", some=CARRIES_MORE),
    _joint("more", "ordered much_besides_politeness"),
    _joint("social_and_more", "social more", none="takes_back with_reason question"),
    _joint("only_social", "social", none="takes_back with_reason question more"),
    # Questions: apart from A, or hanging on it.
    _joint("depends", some=("anaphora", "dependent_question", "repeats_a", "repeats_reply", "no_verb")),
    _joint("question_apart", "question service_probe", none="repeats_a anaphora"),
    _joint("question_shifted", "question topic_shift"),
    _joint("question_dependent", "question depends", none="service_probe"),
    _joint("question_after_question", "question asked", none="r_asks depends"),
    # Statements, by what A was.
    _joint("says", none="question takes_back social"),
    _joint("reason", "says with_reason"),
    _joint("statement", "says", none="with_reason"),
    *(_joint(f"reason_{kind}", f"reason {kind}") for kind in _KINDS_OF_A),
    *(_joint(f"statement_{kind}", f"statement {kind}") for kind in _KINDS_OF_A),
    _joint("fragment", "says no_verb"),
    _joint("fragment_after_question", "fragment asked", none="laugh"),
    _joint("amused_after_question", "says asked", some=("laugh", "positive_emoji", "interjection")),
    _joint("new_complaint", "says complaint nothing_repeated"),
    _joint("complaint_goes_on", "says complaint", some=("ordered", "a_problem"), none="asked"),
    _joint("new_subject", "says starts_subject nothing_repeated"),
    _joint("new_subject_after_order", "new_subject ordered"),
    _joint("statement_about_addressee", "says addressee"),
)


def joint_signs(signs: frozenset[str]) -> frozenset[str]:
    """Add every joint sign that holds."""
    found = set(signs)
    for joint in _JOINTS:
        if joint.holds(found):
            found.add(joint.name)
    return frozenset(found - _SCRATCH)
