"""Messaging channels, one folder each."""
