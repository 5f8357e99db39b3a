"""The page of commands, made from the help texts.

``python -m onevoice.entrypoints.cli_reference > docs/commands.md``
"""

from __future__ import annotations

import contextlib
import io
import sys

import typer

from onevoice.entrypoints.cli import application

_HEAD = """# Commands

Generated from `onevoice --help`; a test compares the two.

Statuses: 0 done; 1 it cannot be done, or the doctor found a fault; 2 the configuration or the command line
is wrong, one line per fault on stderr.
"""


def reference() -> str:
    """The help text of onevoice and of each command, groups included."""
    parts = [_HEAD, _section([])]
    parts += [_section(words) for words in _commands(application, [])]
    return "\n".join(parts)


def _commands(group: typer.Typer, words: list[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for info in group.registered_commands:
        name = info.name or (info.callback.__name__ if info.callback else "")
        found.append([*words, name])
    for inner in group.registered_groups:
        if inner.typer_instance is not None and isinstance(inner.name, str):
            found += _commands(inner.typer_instance, [*words, inner.name])
    return found


def _section(words: list[str]) -> str:
    title = " ".join(["onevoice", *words])
    return f"## `{title}`\n\n```text\n{_help(words)}\n```\n"


def _help(words: list[str]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        application([*words, "--help"], prog_name="onevoice", terminal_width=100)
    return "\n".join(line.rstrip() for line in output.getvalue().strip().splitlines())


if __name__ == "__main__":
    sys.stdout.write(reference())
