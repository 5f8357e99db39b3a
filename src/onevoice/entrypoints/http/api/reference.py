"""The table of calls in docs/api.md: `python -m onevoice.entrypoints.http.api.reference` prints it."""

from __future__ import annotations

import sys
from typing import Any

from onevoice.entrypoints.http.api.app import OperatorApi


def table_of_calls() -> str:
    """One line per call, from the OpenAPI document."""
    document = OperatorApi().openapi()
    lines = ["| call | parameters | body | answers | |", "|---|---|---|---|---|"]
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            parameters = ", ".join(f"`{parameter['name']}`" for parameter in _visible(call))
            body = ", ".join(f"`{name}`" for name in _keys_of_body(document, call))
            answers = ", ".join(sorted(call["responses"]))
            cells = (f"`{method.upper()} {path}`", parameters, body, answers, call["description"])
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _visible(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [parameter for parameter in call.get("parameters", []) if parameter["in"] != "path"]


def _keys_of_body(document: dict[str, Any], call: dict[str, Any]) -> list[str]:
    """The keys of the body's schema; a body that may be left out is one of two alternatives."""
    if "requestBody" not in call:
        return []
    content = call["requestBody"]["content"]
    if "application/json" not in content:
        return []
    schema = content["application/json"]["schema"]
    [reference] = [each["$ref"] for each in schema.get("anyOf", [schema]) if "$ref" in each]
    return list(document["components"]["schemas"][reference.rpartition("/")[2]]["properties"])


if __name__ == "__main__":
    sys.stdout.write(table_of_calls())
