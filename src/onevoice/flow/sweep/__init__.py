"""Sweep: what a crash left half done is found in the rows and finished; disagreements of neighbours are counted."""

from onevoice.flow.sweep.perform import sweep

__all__ = ["sweep"]
