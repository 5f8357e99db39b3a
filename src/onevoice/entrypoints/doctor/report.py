"""Findings as a table for people, as lines for logs and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from onevoice.entrypoints.doctor.finding import Finding, Level

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "bold red"}


def as_lines(findings: Sequence[Finding]) -> str:
    """One line per finding: level, name, what was found; what to do."""
    return "\n".join(
        f"{finding.level:<8} {finding.name}: {finding.what}{f'; {finding.act}' if finding.act else ''}"
        for finding in findings
    )


def as_json(findings: Sequence[Finding]) -> str:
    healthy = all(finding.level is not Level.FAULT for finding in findings)
    return json.dumps(
        {"ok": healthy, "findings": [asdict(finding) for finding in findings]}, ensure_ascii=False, indent=2
    )


def as_table(findings: Sequence[Finding]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_edge=False)
    for heading in ("", "check", "found", "what to do"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        level = Text(finding.level, style=_COLOURS[finding.level])
        table.add_row(level, Text(finding.name), Text(finding.what), Text(finding.act))
    return table
