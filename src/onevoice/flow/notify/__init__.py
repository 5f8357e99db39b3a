"""Notify: someone is always told of what only a human can resolve; written with what it tells of, delivered after."""
