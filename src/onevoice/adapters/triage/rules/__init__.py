"""The offline triage decider: reads what was said, weighs the signs, decides in under two milliseconds."""

from __future__ import annotations

from onevoice.adapters.triage.rules.decider import RulesDecider, decide_by_rules

__all__ = ["RulesDecider", "decide_by_rules"]
