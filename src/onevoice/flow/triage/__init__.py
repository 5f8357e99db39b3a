"""Triage: what becomes of a sealed reply that a newer message overtook."""

from onevoice.flow.triage.perform import Asked, claim_triage, conclude

__all__ = ["Asked", "claim_triage", "conclude"]
