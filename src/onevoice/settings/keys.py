"""Which keys exist, how a key is written in a fault, and which one a wrong key was meant to be."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from onevoice.settings.channels import CHANNEL_KINDS
from onevoice.settings.forms import nearest
from onevoice.settings.root import Settings
from onevoice.settings.sections import PolicySettings, Section

Location = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY_CHARS_MAX = 60


def tables() -> dict[str, type[Section]]:
    """The sections that are one table each, in the order of the reference."""
    return {
        name: field.annotation
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }


def all_keys() -> list[str]:
    """Every ``section.key`` of the sections that are tables."""
    return [f"{section}.{key}" for section, model in tables().items() for key in model.model_fields]


def model_at(location: Location, kind: object) -> type[Section] | None:
    """The model whose keys stand at this place; ``kind`` is that of the channel there, if it is one."""
    if location == ():
        return Settings
    if len(location) == 1 and isinstance(location[0], str):
        return tables().get(location[0])
    if len(location) == 2 and location[0] == "policies":
        return PolicySettings
    if len(location) == 2 and location[0] == "channels":
        return CHANNEL_KINDS.get(kind) if isinstance(kind, str) else None
    return None


def written(location: Location) -> str:
    """``channels[0].app_secret``; an odd key is quoted and cut, so that a fault stays one line."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _one_word(part)
    return text or "configuration"


def meant(location: Location, model: type[Section]) -> str:
    """The known key that an unknown one was most likely meant to be."""
    key = str(location[-1])
    if len(location) == 1:
        return _meant_at_root(key)
    elsewhere = [known for known in all_keys() if known.rpartition(".")[2] == key.lower()]
    if elsewhere and key.lower() not in model.model_fields and isinstance(location[0], str):
        return elsewhere[0]
    return f"{written(location[:-1])}.{nearest(key, list(model.model_fields))}"


def is_list_of_tables(name: object) -> bool:
    return name in {"channels", "policies"}


def takes_text(annotation: Any) -> bool:
    """Whether a value from the environment is the text itself; otherwise it is read as a TOML value."""
    core = core_annotation(annotation)
    if get_origin(core) is tuple:
        # A list of secrets also takes one secret as plain text; other lists are written as lists.
        return core_annotation(get_args(core)[0]) is SecretStr
    return core not in {float, int, bool}


def item_annotation(annotation: Any) -> Any:
    """The annotation of a list's entries; of anything else, its own."""
    core = core_annotation(annotation)
    return get_args(core)[0] if get_origin(core) is tuple else core


def annotation_of(field: FieldInfo) -> Any:
    """The annotation with its constraints, as the model was written."""
    return field.rebuild_annotation()


def core_annotation(annotation: Any) -> Any:
    """The type alone, without constraints."""
    return core_annotation(get_args(annotation)[0]) if hasattr(annotation, "__metadata__") else annotation


def choices_of(annotation: object) -> list[str]:
    """The words an enumeration allows; none for any other type."""
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return [choice.value for choice in annotation]
    return []


def _meant_at_root(key: str) -> str:
    for known in all_keys():
        if known.rpartition(".")[2] == key.lower():
            return known
    name = nearest(key, list(Settings.model_fields))
    return f"[[{name}]]" if is_list_of_tables(name) else f"[{name}]"


def _one_word(key: str) -> str:
    cut = key if len(key) <= _KEY_CHARS_MAX else key[:_KEY_CHARS_MAX] + "…"
    return cut if _BARE.fullmatch(cut) else '"' + "".join(c if c.isprintable() else "?" for c in cut) + '"'
