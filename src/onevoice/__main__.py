"""``python -m onevoice`` is the command ``onevoice``."""

from __future__ import annotations

from onevoice.entrypoints.cli import main

main()
