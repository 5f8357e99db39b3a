"""Bytes nobody would send, and words nobody should obey."""
