"""Sweep: what a crash left half done is found in the rows and finished; disagreements of neighbours are counted."""
