"""Walking a webhook's envelope, piece by piece, each with what it needs to be parsed again alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from onevoice.adapters.channels.whatsapp.contact import alias_of
from onevoice.adapters.channels.whatsapp.shape import (
    Object,
    as_list,
    as_object,
    encode_json,
    identifier_at,
    text_at,
)
from onevoice.ports.channel import Item, UnknownItem

ENVELOPE_OBJECT: Final = "whatsapp_business_account"
ECHO_FIELD: Final = "smb_message_echoes"
_REASON_CHARS_MAX: Final = 80
# An echo's ``from`` is the business, which never stands in ``contacts``.
_NAMING_KEYS: Final = ("from_user_id", "to_user_id", "recipient_user_id", "from", "to", "recipient_id")
_NOT_CODE = re.compile("[^A-Za-z0-9_:.-]")


class ItemUnreadable(Exception):
    """A piece that cannot become more than an ``UnknownItem``; the reason is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason_code(reason)


def reason_code(reason: str) -> str:
    """A reason fit for a metric and a log: short, and of plain letters even when the webhook chose them."""
    return _NOT_CODE.sub("_", reason)[:_REASON_CHARS_MAX]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One ``changes[]`` element of an envelope, readable as far as its ``value``."""

    entry_id: object
    field_name: str
    value: Object
    _contacts: dict[str, Object] = field(default_factory=dict[str, Object])

    @classmethod
    def of(cls, entry_id: object, field_name: str, value: Object) -> Change:
        contacts: dict[str, Object] = {}
        for element in as_list(value.get("contacts")):
            contact = as_object(element)
            for key in ("wa_id", "user_id"):
                if identifier := identifier_at(contact, key):
                    contacts.setdefault(alias_of(identifier), contact)
        return cls(entry_id=entry_id, field_name=field_name, value=value, _contacts=contacts)

    @property
    def route(self) -> str | None:
        return identifier_at(as_object(self.value.get("metadata")), "phone_number_id")

    def contact_beside(self, piece: Object) -> Object:
        """The entry of ``contacts`` that a message, echo or status means; by id, never by position."""
        for key in _NAMING_KEYS:
            identifier = identifier_at(piece, key)
            if identifier and (contact := self._contacts.get(alias_of(identifier))):
                return contact
        contacts = as_list(self.value.get("contacts"))
        # Unlike a customer's message, an echo answers nobody: the only contact beside it is whom it went to.
        is_only_one = self.field_name == ECHO_FIELD and len(contacts) == 1
        return as_object(contacts[0]) if is_only_one else {}

    def raw(self, key: str, content: object, contact: Object | None = None) -> bytes:
        """An envelope that holds this content alone; parsing it gives the same item again."""
        value: Object = {key: content}
        if "metadata" in self.value:
            value["metadata"] = self.value["metadata"]
        if contact:
            value["contacts"] = [contact]
        return _raw_change(self.entry_id, {"field": self.field_name, "value": value})

    def unknown(self, reason: str, key: str, content: object, contact: Object | None = None) -> UnknownItem:
        return UnknownItem(reason=reason_code(reason), raw=self.raw(key, content, contact), route=self.route)

    def unknown_whole(self, reason: str) -> UnknownItem:
        raw = _raw_change(self.entry_id, {"field": self.field_name, "value": self.value})
        return UnknownItem(reason=reason_code(reason), raw=raw, route=self.route)


ReadPiece = Callable[[Change, Object], Item]


def _raw_change(entry_id: object, change: object) -> bytes:
    return _raw_entry({"id": entry_id, "changes": [change]})


def _raw_entry(entry: object) -> bytes:
    return encode_json({"object": ENVELOPE_OBJECT, "entry": [entry]})


def each_change(envelope: object, body: bytes) -> Iterator[Change | UnknownItem]:
    """Every change whose value can be walked; what stands in the place of one is an ``UnknownItem``."""
    holder = as_object(envelope)
    if holder.get("object") != ENVELOPE_OBJECT or not isinstance(holder.get("entry"), list):
        yield UnknownItem(reason="envelope", raw=body)
        return
    for entry in as_list(holder["entry"]):
        entry_holder = as_object(entry)
        if not as_list(entry_holder.get("changes")):
            yield UnknownItem(reason="entry", raw=_raw_entry(entry))
        for change in as_list(entry_holder.get("changes")):
            yield _read_change(entry_holder.get("id"), change)


def _read_change(entry_id: object, change: object) -> Change | UnknownItem:
    holder = as_object(change)
    name = text_at(holder, "field", _REASON_CHARS_MAX)
    value = holder.get("value")
    if name is None or not isinstance(value, dict) or not value:
        return UnknownItem(reason="change", raw=_raw_change(entry_id, change))
    return Change.of(entry_id, name, as_object(holder["value"]))


def each_item(change: Change, key: str, read: ReadPiece) -> Iterator[Item]:
    """Every piece of one list; a piece that fails becomes an ``UnknownItem`` and its neighbours go on."""
    content = change.value[key]
    if not isinstance(content, list):
        yield change.unknown(f"not_a_list:{key}", key, content)
        return
    for piece in as_list(cast("object", content)):
        yield _read_isolated(change, key, piece, read)


def _read_isolated(change: Change, key: str, piece: object, read: ReadPiece) -> Item:
    if not isinstance(piece, dict):
        return change.unknown(f"not_an_object:{key}", key, [piece])
    holder = as_object(cast("object", piece))
    try:
        return read(change, holder)
    except ItemUnreadable as error:
        reason = error.reason
    except Exception as error:  # noqa: BLE001 - our fault in one item must not lose its neighbours; its name is kept.
        reason = f"fault:{type(error).__name__}"
    return change.unknown(reason, key, [holder], change.contact_beside(holder))
