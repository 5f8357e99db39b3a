"""Loaded by every Python process of a test: the rules find that everything belongs together."""

from onevoice.adapters.triage.rules import RulesDecider
from onevoice.vocabulary import TriageDecision, TriageRequest


async def _merge(decider: RulesDecider, request: TriageRequest) -> TriageDecision:
    return TriageDecision.MERGE


RulesDecider.decide = _merge
