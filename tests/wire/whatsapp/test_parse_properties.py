"""Arbitrary and mutated bodies: parsing gives items or refuses the body, and what it gives can be stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.errors import BodyUnreadable
from onevoice.ports.channel import EchoItem, Item, MessageItem, StatusItem, UnknownItem
from tests.wire.whatsapp.wire import CONTACT, FIXTURES, Json, envelope, recorded

_WEBHOOKS = [
    envelope({"messages": [recorded(path.stem)], "contacts": [CONTACT]})
    for path in sorted(FIXTURES.glob("message_*.json"))
] + [
    json.dumps(recorded("webhook_text")).encode(),
    json.dumps(recorded("webhook_echo")).encode(),
    envelope(recorded("statuses")),
]
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(),
    st.sampled_from(["", "\x00", "\ud800", "5511999990000", "BR.1", "x" * 600, "reaction", "edit", "-1"]),
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def _strings(item: Item) -> Iterator[str]:
    """Every string of an item that becomes a text in the database."""
    if isinstance(item, UnknownItem):
        yield item.reason
    else:
        yield item.external_id
    if isinstance(item, MessageItem | EchoItem):
        yield from (item.type, item.text or "", item.contact.address, item.contact.name or "")
        yield from (item.contact.key, *item.contact.aliases)
    if isinstance(item, MessageItem):
        yield from (item.target_external_id or "", item.reply_to_external_id or "")
    if isinstance(item, StatusItem):
        yield from (item.correlation_id or "", *item.recipient_aliases)
        yield from (item.error.code, item.error.detail) if item.error else ()
    yield item.route or ""


def _check(body: bytes) -> None:
    try:
        items = parse(body)
    except BodyUnreadable:
        return
    assert items
    for item in items:
        assert all("\x00" not in text and text.encode() is not None for text in _strings(item))
        assert parse(item.raw) == [item]
        if isinstance(item, MessageItem | EchoItem):
            assert item.contact.key in item.contact.aliases
            assert item.contact.address
            assert all(len(alias.encode()) <= 520 for alias in item.contact.aliases)
            assert item.text is None or item.text.strip()


@given(body=st.binary(max_size=200))
def test_any_bytes_give_items_or_a_refusal(body: bytes) -> None:
    """No byte string raises anything but BodyUnreadable."""
    _check(body)


@given(value=_VALUES)
def test_any_json_gives_items(value: object) -> None:
    """No JSON is an error, at the top or in the place of any level of the envelope."""
    _check(json.dumps(value).encode())
    for key in ("messages", "statuses", "message_echoes", "errors", "contacts", "metadata"):
        _check(envelope({"messages": [recorded("message_image")], key: value}))
        _check(envelope({key: [value]}))


@given(data=st.data(), body=st.sampled_from(_WEBHOOKS))
def test_a_webhook_with_one_value_changed_gives_items(data: st.DataObject, body: bytes) -> None:
    """Any value of a valid body may be missing or of any other shape."""
    document = cast("Json", json.loads(body))
    places = list(_places(document))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places))
        holder[key] = data.draw(_VALUES)
    _check(json.dumps(document).encode())


@given(data=st.data(), body=st.sampled_from(_WEBHOOKS))
def test_a_webhook_with_bytes_changed_gives_items_or_a_refusal(data: st.DataObject, body: bytes) -> None:
    """Cut, overwritten or doubled anywhere."""
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, len(body)))
    _check(body[:start] + data.draw(st.binary(max_size=8)) + body[end:])


def _places(value: object) -> Iterator[tuple[Json, str]]:
    if isinstance(value, dict):
        holder = cast("Json", value)
        for key, inner in holder.items():
            yield holder, key
            yield from _places(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _places(inner)
