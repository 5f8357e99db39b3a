"""The page of commands says what `--help` says."""

from __future__ import annotations

from onevoice.entrypoints.cli_reference import reference
from tests.architecture.project import ROOT


def test_the_page_of_commands_is_the_generated_one() -> None:
    """`python -m onevoice.entrypoints.cli_reference > docs/commands.md` after a change of the commands."""
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference()
