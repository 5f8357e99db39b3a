"""Operator: what a human may seal, note, schedule and release, under the same authority as everything else."""
