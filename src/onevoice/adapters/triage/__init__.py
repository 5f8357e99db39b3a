"""Deciders about a sealed reply that a newer message overtook."""
