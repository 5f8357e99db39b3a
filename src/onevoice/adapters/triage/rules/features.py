"""What can be seen in A, the waiting reply and B that bears on the decision, as named signs.

A sign is true or absent. None of them names a trade's goods: they are acts of speech, grammar and
resemblance, so that they hold in shops the weights never saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onevoice.adapters.triage.rules.before import earlier_signs, kind_of_earlier, reply_signs
from onevoice.adapters.triage.rules.cues import cues_of
from onevoice.adapters.triage.rules.joints import joint_signs
from onevoice.adapters.triage.rules.lexicon import Lexicon
from onevoice.adapters.triage.rules.links import link_signs
from onevoice.adapters.triage.rules.normalise import Utterance, read
from onevoice.adapters.triage.rules.shape import shape_signs


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What the customer said, what is waiting to answer it, and what came since."""

    lexicon: Lexicon
    earlier: Utterance
    last_earlier: Utterance
    reply: Utterance
    newer: Utterance


def read_exchange(
    overtaken: Sequence[str], reply: Sequence[str], newer: Sequence[str], lexicon: Lexicon
) -> Exchange:
    abbreviations = lexicon.abbreviations
    return Exchange(
        lexicon=lexicon,
        earlier=read("\n".join(overtaken), abbreviations),
        last_earlier=read(overtaken[-1] if overtaken else "", abbreviations),
        reply=read("\n".join(reply), abbreviations),
        newer=read("\n".join(newer), abbreviations),
    )


def signs_of(exchange: Exchange) -> frozenset[str]:
    """Name everything that is true of an exchange."""
    lexicon, earlier, reply, newer = exchange.lexicon, exchange.earlier, exchange.reply, exchange.newer
    cues = cues_of(newer, lexicon)
    shape = frozenset(shape_signs(newer, cues, lexicon))
    if "question" not in shape:
        cues -= {"dependent_question", "service_probe"}
    elif "service_probe" in cues and "anaphora" not in cues:
        cues -= {"purpose", "addition", "scope"}
    before = frozenset(earlier_signs(earlier, exchange.last_earlier, lexicon))
    answered = frozenset(reply_signs(reply, lexicon))
    signs = cues | shape | before | frozenset(link_signs(earlier, reply, newer, lexicon))
    signs |= answered & {"r_asks"} | frozenset(kind_of_earlier(before | answered))
    return joint_signs(signs) if newer.words else signs
