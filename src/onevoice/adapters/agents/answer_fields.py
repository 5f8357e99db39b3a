"""Reading the fields of an HTTP agent's answer; whatever is not as the protocol says is a bad answer. Pure."""

from __future__ import annotations

from typing import cast

from onevoice.errors import AgentError

TEXT_CHARS_MAX = 65_536
JsonObject = dict[str, object]


def as_object(value: object, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise bad_answer(f"{what} is not an object")
    return cast("JsonObject", value)


def list_at(fields: JsonObject, key: str, *, items_max: int) -> list[object]:
    """The list under a key; none for none."""
    given = fields.get(key)
    if given is None:
        return []
    if not isinstance(given, list):
        raise bad_answer(f"{key} is not a list")
    entries = cast("list[object]", given)
    if len(entries) > items_max:
        raise bad_answer(f"{key} has {len(entries)} entries, at most {items_max} are taken")
    return entries


def text_at(fields: JsonObject, key: str) -> str | None:
    """A text as the database can hold it: no NUL, no half of a surrogate pair."""
    given = fields.get(key)
    if given is None:
        return None
    if not isinstance(given, str):
        raise bad_answer(f"{key} is not a text")
    if len(given) > TEXT_CHARS_MAX:
        raise bad_answer(f"{key} has {len(given)} characters, at most {TEXT_CHARS_MAX} are taken")
    return given.replace("\x00", "").encode("utf-8", "replace").decode()


def required_text_at(fields: JsonObject, key: str, what: str) -> str:
    text = text_at(fields, key)
    if text is None:
        raise bad_answer(f"{what} has no {key}")
    return text


def bad_answer(fault: str) -> AgentError:
    return AgentError(
        "agent_bad_answer", f"the agent's answer cannot be used: {fault}; compare it with the protocol"
    )
