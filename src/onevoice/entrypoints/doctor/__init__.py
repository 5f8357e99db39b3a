"""What `onevoice doctor` looks at, and what to do about each finding. None ever shows a secret."""

from __future__ import annotations

from onevoice.entrypoints.doctor.examination import examine
from onevoice.entrypoints.doctor.finding import Finding, Level
from onevoice.entrypoints.doctor.report import as_json, as_lines, as_table

__all__ = ["Finding", "Level", "as_json", "as_lines", "as_table", "examine"]
