"""One line per fault: ``key: what is wrong; what would be right``. No value is ever repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from onevoice.settings.channels import CHANNEL_KINDS
from onevoice.settings.forms import nearest
from onevoice.settings.keys import Location, choices_of, is_list_of_tables, meant, model_at, written

Fault = tuple[Location | str, str]
"""Where (a location, or a key already written) and the text after the colon."""

_TYPES = {
    "float_type": "is no number; write one such as 1.5",
    "int_type": "is no whole number; write one such as 3",
    "bool_type": "is neither true nor false; write one of the two, without quotes",
    "string_type": "is no text; write it in quotes",
    "path_type": "is no path; write it in quotes",
    "finite_number": "is not a finite number; write one such as 1.5",
    "tuple_type": "is no list; write it in square brackets",
}

_BOUNDS: dict[str, tuple[str, str]] = {
    "greater_than_equal": ("is too small; at least {}", "ge"),
    "greater_than": ("is too small; more than {}", "gt"),
    "less_than_equal": ("is too large; at most {}", "le"),
    "less_than": ("is too large; less than {}", "lt"),
    "too_long": ("has too many entries; at most {}", "max_length"),
    "string_too_long": ("is too long; at most {} characters", "max_length"),
}


def faults_of(error: ValidationError, raw: Mapping[str, Any]) -> list[Fault]:
    """Every fault pydantic found in ``raw``, in our words."""
    found: list[Fault] = []
    for details in error.errors(include_url=False, include_input=True):
        found.extend(_faults_of_one(details, raw))
    return found


def line(where: Location | str, text: str) -> str:
    return f"{where if isinstance(where, str) else written(where)}: {text}"


def _faults_of_one(details: ErrorDetails, raw: Mapping[str, Any]) -> list[Fault]:
    location = place(details, raw)
    context = details.get("ctx", {})
    if details["type"] == "keys":
        prefix = f"{written(location)}." if location else ""
        return [(prefix + key, text) for key, text in context["found"]]
    return [(location, _text(details, location, context, raw))]


def place(details: ErrorDetails, raw: Mapping[str, Any]) -> Location:
    """Where the fault is, without the kind that pydantic puts behind a channel's index."""
    location = details["loc"]
    if len(location) >= 3 and location[0] == "channels" and location[2] == kind_at(location[:2], raw):
        location = (*location[:2], *location[3:])
    if details["type"].startswith("union_tag"):
        location = (*location[:2], "kind")
    return location


def kind_at(location: Location, raw: Mapping[str, Any]) -> object:
    """The kind of the channel at ``channels[i]``, if there is one."""
    entries = raw.get("channels")
    if len(location) < 2 or location[0] != "channels" or not isinstance(entries, list):
        return None
    entry = cast("list[object]", entries)[cast("int", location[1])]
    return cast("Mapping[str, object]", entry).get("kind") if isinstance(entry, Mapping) else None


def _text(details: ErrorDetails, location: Location, context: dict[str, Any], raw: Mapping[str, Any]) -> str:
    kind = details["type"]
    if kind == "form":
        return str(context["text"])
    if kind == "tuple_type" and is_list_of_tables(location[-1]):
        return f"is no list of tables; write each one under [[{location[-1]}]]"
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return words.format(_number(context[bound]))
    special: dict[str, Callable[[], str]] = {
        "extra_forbidden": lambda: _unknown_key(location, raw),
        "missing": lambda: _missing(location, raw),
        "enum": lambda: _choice(location, details["input"], raw),
        "string_pattern_mismatch": lambda: "has a wrong form; " + _description(location, raw),
        "union_tag_invalid": lambda: _unknown_kind(details["input"]),
        "union_tag_not_found": lambda: "missing; it is one of " + ", ".join(CHANNEL_KINDS),
    }
    if kind in special:
        return special[kind]()
    return (
        _shape(location)
        if kind.startswith(("model", "dict"))
        else "cannot be used; " + _description(location, raw)
    )


def _unknown_key(location: Location, raw: Mapping[str, Any]) -> str:
    model = model_at(location[:-1], kind_at(location, raw))
    if model is None:
        return "unknown key; docs/settings.md lists every key"
    what = "unknown section" if len(location) == 1 and _is_table(raw.get(str(location[0]))) else "unknown key"
    return f"{what}; did you mean {meant(location, model)}?"


def _missing(location: Location, raw: Mapping[str, Any]) -> str:
    return "missing; " + _description(location, raw)


def _description(location: Location, raw: Mapping[str, Any]) -> str:
    """What belongs here: the key's description as it stands in the reference."""
    while location and isinstance(location[-1], int):
        location = location[:-1]
    model = model_at(location[:-1], kind_at(location, raw))
    field = model.model_fields.get(str(location[-1])) if model and location else None
    if field is None or not field.description:
        return "docs/settings.md lists every key"
    return field.description[0].lower() + field.description[1:].rstrip(".")


def _choice(location: Location, value: object, raw: Mapping[str, Any]) -> str:
    model = model_at(location[:-1], kind_at(location, raw))
    annotation = model.model_fields[str(location[-1])].annotation if model else None
    choices = choices_of(annotation)
    if not choices:
        return "no such choice; " + _description(location, raw)
    close = f"did you mean {nearest(value, choices)}? " if isinstance(value, str) else ""
    return f"no such choice; {close}It is one of {', '.join(choices)}"


def _unknown_kind(entry: object) -> str:
    kind = cast("Mapping[str, object]", entry).get("kind") if isinstance(entry, Mapping) else None
    known = list(CHANNEL_KINDS)
    close = f"did you mean {nearest(kind, known)}? " if isinstance(kind, str) else ""
    return f"unknown kind; {close}Known are {', '.join(known)}"


def _shape(location: Location) -> str:
    name = str(location[0]) if location else ""
    if is_list_of_tables(name):
        return f"is no table; write its keys under [[{name}]]"
    return f"is no table; write its keys under [{name}]"


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping | list)


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
