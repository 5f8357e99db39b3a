"""What the gate looks for in words: policies, opt-outs, and a human promised without being asked for. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from onevoice.vocabulary import ChannelName

_EDGES: Final = re.compile(r"^\W+|\W+$")

# A reply that says it transfers. Portuguese, English and Spanish, first person and passive.
_PROMISES: Final = re.compile(
    r"\b("
    r"(vou|vamos|irei|estou|posso)\s+(te\s+|lhe\s+|o\s+|a\s+|já\s+)?(transferir|transferindo|encaminhar|encaminhando|"
    r"passar|passando|chamar)\s+(voc[eê]\s+|sua\s+conversa\s+|seu\s+atendimento\s+)?(para|pra|a|ao|à|um|uma|com|o)?\s*"
    r"(um|uma|o|a|nosso|nossa)?\s*(atendente|humano|colega|especialista|pessoa|equipe|consultor\w*|time)"
    r"|(i['’]?ll|i\s+will|i['’]?m|i\s+am|let\s+me)\s+(now\s+)?(transfer|transferring|connect|connecting|hand|handing|"
    r"pass|passing)\s+(you\s+)?(over\s+)?(to|with)\s+(a|an|one|our|my)?\s*(of\s+our\s+)?"
    r"(human|agent|colleagues?|operator|specialist|person|team\w*|representative)"
    r"|(te|le|lo|la)\s+(voy\s+a\s+)?(transferir|transfiero|paso|pasar|derivo|derivar|comunico|comunicar)\s+"
    r"(con|a)\s+(un|una|el|la|nuestro|nuestra)?\s*(agente|asesora?|humano|persona|compañer[oa]|especialista|equipo)"
    r")\b",
    re.IGNORECASE,
)


class Hours(Protocol):
    def covers(self, at: datetime) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A configured policy. ``pattern`` and ``hours`` must both hold where both are given."""

    name: str
    pattern: re.Pattern[str] | None
    hours: Hours | None
    channels: tuple[ChannelName, ...]
    suspends: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyHit:
    """A rule that matched, or a customer who opted out."""

    reason: str
    note: str
    suspends: bool


def match_policies(
    rules: Sequence[Rule],
    opt_out_words: Sequence[str],
    *,
    texts: Sequence[str],
    channel: ChannelName,
    now: datetime,
) -> PolicyHit | None:
    """The first policy that applies to this burst; an opt-out comes before all of them."""
    words = {_bare(word) for word in opt_out_words}
    if any(_bare(text) in words for text in texts):
        return PolicyHit(reason="customer_request", note="the customer opted out", suspends=True)
    for rule in rules:
        if _applies(rule, texts=texts, channel=channel, now=now):
            return PolicyHit(reason="policy", note=rule.note or rule.name, suspends=rule.suspends)
    return None


def promises_human(texts: Sequence[str]) -> bool:
    """Whether a reply says that somebody else takes over.

    >>> promises_human(["Um momento, vou te transferir para um atendente."])
    True
    >>> promises_human(["Quer falar com um atendente?"])
    False
    """
    return any(_PROMISES.search(text) for text in texts)


def _applies(rule: Rule, *, texts: Sequence[str], channel: ChannelName, now: datetime) -> bool:
    if rule.channels and channel not in rule.channels:
        return False
    if rule.hours is not None and not rule.hours.covers(now):
        return False
    return rule.pattern is None or any(rule.pattern.search(text) for text in texts)


def _bare(text: str) -> str:
    return _EDGES.sub("", text).casefold()
