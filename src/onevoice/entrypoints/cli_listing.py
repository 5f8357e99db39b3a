"""How commands show a list: a table on a terminal, tab-separated lines on a pipe, JSON when asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

Value = str | int | bool | datetime | UUID | None
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON on stdout.")]


def show(rows: Sequence[Mapping[str, Value]], *, title: str, nothing: str, json: bool) -> None:
    """``nothing`` is said on stderr, so that a pipe gets no line."""
    if json:
        typer.echo(_as_json(rows))
    elif not rows:
        typer.echo(nothing, err=True)
    elif sys.stdout.isatty():
        _show_table(rows, title=title)
    else:
        for row in rows:
            typer.echo("\t".join(one_line(value) for value in row.values()))


def one_line(value: Value) -> str:
    """On one line and without control characters: a message's text must not steer a terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    kept = (character if character.isprintable() else " " for character in str(value))
    return " ".join("".join(kept).split()) or "-"


def _as_json(rows: Sequence[Mapping[str, Value]]) -> str:
    import json

    def plain(value: Value) -> object:
        if isinstance(value, datetime):
            return value.isoformat()
        return str(value) if isinstance(value, UUID) else value

    shown = [{name: plain(value) for name, value in row.items()} for row in rows]
    return json.dumps(shown, ensure_ascii=False, indent=2)


def _show_table(rows: Sequence[Mapping[str, Value]], *, title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name.replace("_", " "), no_wrap=name == "id")
    for row in rows:
        table.add_row(*(Text(one_line(value)) for value in row.values()))
    Console().print(table)
