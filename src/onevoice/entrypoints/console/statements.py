"""The named statements of the console's read side."""

from __future__ import annotations

from onevoice.store.statements import load_statements

SQL = load_statements(__package__)
