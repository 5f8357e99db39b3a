"""The settings reference and the example file, made from the models so that they cannot drift.

``python -m onevoice.settings.reference > docs/settings.md``
``python -m onevoice.settings.reference example > onevoice.example.toml``
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from onevoice.settings.channels import CHANNEL_KINDS
from onevoice.settings.keys import annotation_of, choices_of, core_annotation, tables
from onevoice.settings.sections import PolicySettings, Section

_HEAD = """# Settings

Generated from `onevoice.settings`; a test compares the two.

`onevoice.toml` is read from the working directory, or from where `--config PATH` says. Each key of a
section is also an environment variable, `ONEVOICE_SECTION__KEY`, which wins over the file:
`ONEVOICE_TURNS__DEBOUNCE_SECONDS=2`. Numbers, switches and lists are written there as in the file
(`1.5`, `true`, `[0.3, 0.6]`), texts without quotes. `[[channels]]` and `[[policies]]` are set in the
file alone.

A value `"env:NAME"` reads the environment variable `NAME`, in `[[channels]]` and inside lists too: keep
secrets there. A variable that is not set is a fault, not an empty value. Relative paths start at the
working directory of the command.

Every fault of a configuration is reported at once, one line each, and the command exits with 2. Secrets
are never shown. `onevoice.example.toml` lists every key with its default.
"""

_POLICIES = """
`hours` says when a policy applies: `[outside] days from-to{, days from-to} zone`. Days are `daily`, one
day (`sat`) or a range (`mon-fri`, `fri-mon`); times run from `00:00` to `24:00`; an end that is not
after its start lies on the next day (`fri 22:00-02:00`); the zone is an IANA name and stands once, at
the end.

- `mon-fri 09:00-18:00, sat 09:00-13:00 America/Sao_Paulo`: during business hours.
- `outside mon-fri 09:00-18:00, sat 09:00-13:00 America/Sao_Paulo`: at all other times.
"""

_ENTRY_VALUES = {
    "channels": {
        "name": '"loja"',
        "kind": '"whatsapp"',
        "phone_number_id": '"100000000000001"',
        "access_token": '"env:WHATSAPP_ACCESS_TOKEN"',
        "app_secret": '"env:WHATSAPP_APP_SECRET"',
        "verify_token": '"env:WHATSAPP_VERIFY_TOKEN"',
    },
    "policies": {
        "name": '"contracts"',
        "match": "'(?i)\\bcontrato\\b'",
        "action": '"handoff"',
        "note": '"Asks about a contract."',
    },
}


def reference() -> str:
    """docs/settings.md."""
    parts = [_HEAD]
    for name, model in tables().items():
        parts.append(_table(f"[{name}]", model, variable=name))
    for kind, model in CHANNEL_KINDS.items():
        parts.append(_table(f'[[channels]] with kind = "{kind}"', model))
    parts.append(_table("[[policies]]", PolicySettings) + _POLICIES)
    return "\n".join(parts)


def example() -> str:
    """onevoice.example.toml: every key with its default; one channel and one policy as comments."""
    parts = [
        "# Every key with its default; docs/settings.md says more. Copy what you change to onevoice.toml.\n"
    ]
    for name, model in tables().items():
        lines = [f"[{name}]"]
        for key, field in model.model_fields.items():
            lines += [*_comment(field), f"{key} = {_toml(field.get_default(call_default_factory=True))}"]
        parts.append("\n".join(lines) + "\n")
    parts.append(_commented_entry("channels", CHANNEL_KINDS["whatsapp"]))
    parts.append(_commented_entry("policies", PolicySettings))
    return "\n".join(parts)


def _table(title: str, model: type[Section], *, variable: str | None = None) -> str:
    lines = [
        f"## `{title}`",
        "",
        _first_line(model),
        "",
        "| key | value | default | meaning |",
        "|---|---|---|---|",
    ]
    for key, field in model.model_fields.items():
        meaning = (field.description or "").replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| `{key}` | {_value(field)} | {_default(field)} | {meaning} |")
    if variable:
        names = ", ".join(f"`ONEVOICE_{variable}__{key}`".upper() for key in model.model_fields)
        lines += ["", f"Variables: {names}"]
    return "\n".join(lines) + "\n"


def _first_line(model: type[Section]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _default(field: FieldInfo) -> str:
    return "required" if field.is_required() else f"`{_toml(field.get_default(call_default_factory=True))}`"


def _value(field: FieldInfo) -> str:
    """The type and its bounds, in words."""
    core = core_annotation(annotation_of(field))
    words: dict[object, str] = {
        float: "number",
        int: "whole number",
        bool: "`true`, `false`",
        SecretStr: "secret",
        Path: "path",
    }
    if choices := choices_of(core):
        return ", ".join(f"`{choice}`" for choice in choices)
    return words.get(core, "list" if _is_list(core) else "text") + _bounds(field)


def _is_list(core: Any) -> bool:
    return getattr(core, "__origin__", None) is tuple


def _bounds(field: FieldInfo) -> str:
    low = _first(field, "ge")
    high = _first(field, "le")
    return f" {low:g} to {high:g}" if low is not None and high is not None else ""


def _first(field: FieldInfo, bound: str) -> float | None:
    return next((getattr(item, bound) for item in field.metadata if hasattr(item, bound)), None)


def _toml(value: object) -> str:
    if isinstance(value, SecretStr):
        return '""'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)


def _comment(field: FieldInfo) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(field.description or "", width=98)]


def _commented_entry(section: str, model: type[Section]) -> str:
    values = _ENTRY_VALUES[section]
    lines = [f"# [[{section}]]"]
    for key, field in model.model_fields.items():
        value = values.get(key) or _toml(field.get_default(call_default_factory=True))
        lines.append(f"# {key} = {value}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(example() if sys.argv[1:] == ["example"] else reference())
