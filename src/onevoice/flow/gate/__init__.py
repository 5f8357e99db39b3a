"""Gate: the one place where a proposal becomes effects, or does not (invariants I1 and I7)."""
