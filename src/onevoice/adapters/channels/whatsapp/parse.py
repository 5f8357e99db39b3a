"""A webhook's body as items. It never fails for a shape it does not know: that becomes an ``UnknownItem``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from onevoice.adapters.channels.whatsapp.attachment import attachment_of
from onevoice.adapters.channels.whatsapp.contact import alias_of, aliases_of, contact_of, is_phone
from onevoice.adapters.channels.whatsapp.describe import describe, describe_edit
from onevoice.adapters.channels.whatsapp.envelope import (
    ECHO_FIELD,
    Change,
    ItemUnreadable,
    ReadPiece,
    each_change,
    each_item,
)
from onevoice.adapters.channels.whatsapp.errors import classify, read_error
from onevoice.adapters.channels.whatsapp.shape import (
    NAME_CHARS_MAX,
    Object,
    as_list,
    as_object,
    decode_json,
    identifier_at,
    instant_at,
    text_at,
)
from onevoice.ports.channel import (
    ChannelError,
    ContactRef,
    EchoItem,
    Item,
    ItemKind,
    MessageItem,
    StatusItem,
    UnknownItem,
)

REPLY_WINDOW: Final = timedelta(hours=24) - timedelta(seconds=60)
TYPE_CHARS_MAX: Final = 64
STATUSES: Final = frozenset({"sent", "delivered", "read", "played", "failed"})

_AROUND: Final = frozenset({"messaging_product", "metadata", "contacts"})
_RECORD_TYPES: Final = frozenset({"reaction", "system", "request_welcome"})
# A reaction is an inbound message and opens the window; these are events about a chat or an older message.
_OPENS_NO_WINDOW: Final = frozenset({"system", "request_welcome", "edit", "revoke"})
_IDENTITY_CHANGES: Final = frozenset(
    {"user_changed_number", "customer_changed_number", "user_changed_user_id"}
)


def parse(body: bytes) -> Sequence[Item]:
    """Every item of a verified body, in its order; raises ``BodyUnreadable`` only."""
    items = list(_each_item(decode_json(body), body))
    return items or [UnknownItem(reason="empty", raw=body)]


def _each_item(envelope: object, body: bytes) -> Iterator[Item]:
    for change in each_change(envelope, body):
        if isinstance(change, UnknownItem):
            yield change
            continue
        readers = _READERS.get(change.field_name)
        if readers is None:
            yield change.unknown_whole(f"field:{change.field_name}")
            continue
        yield from _from_value(change, readers)


def _from_value(change: Change, readers: dict[str, ReadPiece]) -> Iterator[Item]:
    for key, content in change.value.items():
        if key in readers:
            yield from each_item(change, key, readers[key])
        elif key == "errors":
            yield change.unknown("errors", key, content)
        elif key not in _AROUND:
            yield change.unknown(f"value:{key}", key, content)


def _read_message(change: Change, message: Object) -> MessageItem:
    _refuse_group(message)
    message_type = _type_of(message)
    contact, entry = _sender(change, message)
    kind = _kind_of(message, message_type)
    sent_at = instant_at(message, "timestamp")
    return MessageItem(
        external_id=_external_id(message),
        contact=contact,
        kind=kind,
        type=message_type,
        text=_text_of(message, message_type),
        raw=change.raw("messages", [message], entry),
        sent_at=sent_at,
        opens_window_until=_window_until(sent_at, message_type),
        target_external_id=_target(message, message_type, kind),
        reply_to_external_id=_reply_to(message),
        route=change.route,
        media=attachment_of(message, message_type),
    )


def _read_echo(change: Change, echo: Object) -> EchoItem:
    _refuse_group(echo)
    message_type = _type_of(echo)
    phone, user_id = identifier_at(echo, "to"), identifier_at(echo, "to_user_id")
    entry = change.contact_beside(echo)
    contact = _contact(
        entry, phones=[phone], user_ids=[user_id], parent_ids=[identifier_at(echo, "to_parent_user_id")]
    )
    if contact is None:
        raise ItemUnreadable("no_recipient")
    return EchoItem(
        external_id=_external_id(echo),
        contact=contact,
        type=message_type,
        text=_text_of(echo, message_type),
        raw=change.raw("message_echoes", [echo], entry),
        sent_at=instant_at(echo, "timestamp"),
        route=change.route,
    )


def _read_status(change: Change, status: Object) -> StatusItem:
    status_type = text_at(status, "type", TYPE_CHARS_MAX)
    if status_type == "call":
        raise ItemUnreadable("status:call")
    if status.get("recipient_type") == "group":
        raise ItemUnreadable("group")
    value = text_at(status, "status", TYPE_CHARS_MAX)
    if value not in STATUSES:
        raise ItemUnreadable(f"status:{value or 'missing'}")
    recipients = ["recipient_id", "recipient_user_id", "recipient_parent_user_id"]
    identifiers = [identifier_at(status, key) for key in recipients]
    return StatusItem(
        external_id=_external_id(status),
        status=value,
        raw=change.raw("statuses", [status], change.contact_beside(status)),
        at=instant_at(status, "timestamp"),
        correlation_id=identifier_at(status, "biz_opaque_callback_data"),
        recipient_aliases=aliases_of(identifiers),
        error=_failure(status) if value == "failed" else None,
        route=change.route,
    )


_READERS: Final[dict[str, dict[str, ReadPiece]]] = {
    "messages": {"messages": _read_message, "statuses": _read_status, "message_echoes": _read_echo},
    # A list named ``messages`` in here would be the business's own words: stored as unknown, never answered.
    ECHO_FIELD: {"message_echoes": _read_echo, "statuses": _read_status},
}


def _sender(change: Change, message: Object) -> tuple[ContactRef, Object]:
    phone, user_id = identifier_at(message, "from"), identifier_at(message, "from_user_id")
    entry = change.contact_beside(message)
    system = as_object(message.get("system"))
    parent_ids = [identifier_at(message, "from_parent_user_id"), identifier_at(system, "parent_user_id")]
    if text_at(system, "type", TYPE_CHARS_MAX) in _IDENTITY_CHANGES:
        contact = _changed_contact(entry, system, phone=phone, user_id=user_id, parent_ids=parent_ids)
    else:
        contact = _contact(entry, phones=[phone], user_ids=[user_id], parent_ids=parent_ids)
    if contact is None:
        raise ItemUnreadable("no_sender")
    return contact, entry


def _changed_contact(
    entry: Object, system: Object, *, phone: str | None, user_id: str | None, parent_ids: list[str | None]
) -> ContactRef | None:
    """Old and new ids of one person: replies go to the new one, the old one finds the conversation."""
    new_phone = identifier_at(system, "wa_id") or identifier_at(system, "new_wa_id")
    old_phones = [phone, identifier_at(system, "customer")]
    contact = _contact(
        entry,
        phones=[new_phone, *old_phones],
        user_ids=[identifier_at(system, "user_id"), user_id],
        parent_ids=parent_ids,
    )
    known = phone or user_id
    return replace(contact, key=alias_of(known)) if contact and known else contact


def _contact(
    entry: Object, *, phones: list[str | None], user_ids: list[str | None], parent_ids: list[str | None]
) -> ContactRef | None:
    """A contact of what the item says first, and of its entry in ``contacts`` after that."""
    identifiers = [*phones, identifier_at(entry, "wa_id"), *user_ids, identifier_at(entry, "user_id")]
    profile = as_object(entry.get("profile"))
    name = text_at(profile, "name", NAME_CHARS_MAX) or text_at(profile, "username", NAME_CHARS_MAX)
    return contact_of(
        # Sorted by what they are, not by where they stood: a relay may put a scoped id under ``from``.
        phones=[identifier for identifier in identifiers if identifier and is_phone(identifier)],
        user_ids=[identifier for identifier in identifiers if identifier and not is_phone(identifier)],
        parent_ids=[*parent_ids, identifier_at(entry, "parent_user_id")],
        name=" ".join(name.split()) if name else None,
    )


def _external_id(holder: Object) -> str:
    external_id = identifier_at(holder, "id")
    if external_id is None:
        raise ItemUnreadable("no_id")
    return external_id


def _refuse_group(message: Object) -> None:
    """A group's message must never be answered into somebody's private chat."""
    if message.get("group_id"):
        raise ItemUnreadable("group")


def _type_of(message: Object) -> str:
    return text_at(message, "type", TYPE_CHARS_MAX) or "unknown"


def _kind_of(message: Object, message_type: str) -> ItemKind:
    if message_type == "edit":
        return ItemKind.EDIT
    if message_type == "revoke":
        return ItemKind.REVOKE
    interactive_type = as_object(message.get("interactive")).get("type")
    # Leave to call is given to the business, not said to the agent.
    if message_type in _RECORD_TYPES or interactive_type == "call_permission_reply":
        return ItemKind.RECORD
    # A type nobody knows yet is more likely a customer who wrote than an event: silence would lose them.
    return ItemKind.ARRIVAL


def _target(message: Object, message_type: str, kind: ItemKind) -> str | None:
    if kind not in {ItemKind.EDIT, ItemKind.REVOKE}:
        return None
    target = identifier_at(as_object(message.get(message_type)), "original_message_id")
    if target is None:
        raise ItemUnreadable(f"{message_type}_without_target")
    return target


def _text_of(message: Object, message_type: str) -> str | None:
    if message_type == "revoke":
        return None
    return describe_edit(message) if message_type == "edit" else describe(message, message_type)


def _window_until(sent_at: datetime | None, message_type: str) -> datetime | None:
    return None if sent_at is None or message_type in _OPENS_NO_WINDOW else sent_at + REPLY_WINDOW


def _reply_to(message: Object) -> str | None:
    # A forwarded message's context has no id.
    quoted = identifier_at(as_object(message.get("context")), "id")
    return quoted or identifier_at(as_object(message.get("reaction")), "message_id")


def _failure(status: Object) -> ChannelError:
    errors = as_list(status.get("errors"))
    code, detail = read_error(errors[0] if errors else None)
    return classify(code, None, detail)
