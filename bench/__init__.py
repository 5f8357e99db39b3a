"""Measurements beside the machine's own limits: `python -m bench`, or `make bench`."""
