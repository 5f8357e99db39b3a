"""The named statements about operators, their tokens and their sessions."""

from __future__ import annotations

from onevoice.store.statements import load_statements

SQL = load_statements(__package__)
