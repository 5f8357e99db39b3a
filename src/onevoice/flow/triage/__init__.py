"""Triage: what becomes of a sealed reply that a newer message overtook."""
