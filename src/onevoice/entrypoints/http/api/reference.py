"""The table of calls in docs/api.md: `python -m onevoice.entrypoints.http.api.reference` prints it."""

from __future__ import annotations

import sys
from typing import Any

from onevoice.entrypoints.http.api.app import OperatorApi


def table_of_calls() -> str:
    """One line per call, from the OpenAPI document."""
    lines = ["| call | parameters | answers | |", "|---|---|---|---|"]
    for path, calls in OperatorApi().openapi()["paths"].items():
        for method, call in calls.items():
            parameters = ", ".join(f"`{parameter['name']}`" for parameter in _visible(call))
            answers = ", ".join(sorted(call["responses"]))
            lines.append(f"| `{method.upper()} {path}` | {parameters} | {answers} | {call['description']} |")
    return "\n".join(lines) + "\n"


def _visible(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [parameter for parameter in call.get("parameters", []) if parameter["in"] != "path"]


if __name__ == "__main__":
    sys.stdout.write(table_of_calls())
