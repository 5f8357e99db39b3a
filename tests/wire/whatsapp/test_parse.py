"""A webhook's envelope: everything walked, each item on its own, nothing lost and nothing raised."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from onevoice.adapters.channels.whatsapp import parse as parse_module
from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.errors import BodyUnreadable
from onevoice.ports.channel import ItemKind, MessageItem, StatusItem, UnknownItem
from tests.wire.whatsapp.wire import (
    CONTACT,
    ROUTE,
    Json,
    envelope,
    message,
    one_message,
    one_unknown,
    parse_messages,
    recorded,
)


def test_the_recorded_text_message_is_read_in_full() -> None:
    """The whole way from bytes to an item."""
    [item] = parse(json.dumps(recorded("webhook_text")).encode())

    assert isinstance(item, MessageItem)
    assert (item.external_id, item.kind, item.type) == ("wamid.EXAMPLE.IN.0001", ItemKind.ARRIVAL, "text")
    assert item.text == "Oi, quero saber o prazo"
    assert item.route == ROUTE
    assert item.sent_at == datetime.fromtimestamp(1790000000, UTC)
    assert item.sent_at is not None
    assert item.opens_window_until == item.sent_at + timedelta(hours=24) - timedelta(seconds=60)
    assert item.contact.name == "Ana Exemplo"
    assert item.contact.address == "5511999990000"


def test_a_malformed_item_does_not_lose_its_neighbours() -> None:
    """Two messages and a status in one body; the first message is broken (acceptance fixture 1)."""
    value: Json = {
        "messages": [{"id": 7, "from": ["x"]}, message()],
        "statuses": [{"id": "wamid.OUT", "status": "sent", "timestamp": "1790000000"}],
    }
    broken, good, status = parse(envelope(value))

    assert isinstance(broken, UnknownItem)
    assert broken.reason == "no_sender"
    assert isinstance(good, MessageItem)
    assert isinstance(status, StatusItem)


def test_a_fault_of_ours_is_kept_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even an error nobody foresaw costs one item only, and says what it was."""

    def fail(holder: dict[str, object], key: str) -> datetime | None:
        if holder["id"] == "wamid.1":
            raise ZeroDivisionError
        return None

    monkeypatch.setattr(parse_module, "instant_at", fail)
    first, second = parse_messages(message(id="wamid.1"), message(id="wamid.2"), contacts=[CONTACT])

    assert isinstance(first, UnknownItem)
    assert first.reason == "fault:ZeroDivisionError"
    assert isinstance(second, MessageItem)
    monkeypatch.undo()
    [again] = parse(first.raw)
    assert isinstance(again, MessageItem)
    assert again.contact.name == "Ana Exemplo"


def test_a_redelivery_with_other_key_order_is_the_same_item() -> None:
    """The same message twice, its keys in another order, gives equal items (acceptance fixture 2)."""
    first = message()
    second = dict(reversed(first.items()))

    assert parse_messages(first) == parse_messages(second)


def test_every_entry_change_and_list_is_walked() -> None:
    """A body may hold many entries, changes and items."""
    one = json.loads(envelope({"messages": [message(id="1"), message(id="2")]}))
    two = json.loads(envelope({"messages": [message(id="3")]}))
    two["entry"][0]["changes"].append(
        json.loads(envelope({"messages": [message(id="4")]}))["entry"][0]["changes"][0]
    )
    one["entry"] += two["entry"]
    items = parse(json.dumps(one).encode())

    assert [item.external_id for item in items if isinstance(item, MessageItem)] == ["1", "2", "3", "4"]


def test_messages_and_errors_come_together() -> None:
    """Errors beside a message are stored; the message is read."""
    errors = [{"code": 131000, "title": "Something went wrong"}]
    items = parse(envelope({"messages": [recorded("message_interactive_missing")], "errors": errors}))

    assert [type(item) for item in items] == [MessageItem, UnknownItem]
    assert isinstance(items[1], UnknownItem)
    assert items[1].reason == "errors"
    assert parse(items[1].raw) == [items[1]]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[]", "envelope"),
        (b"7", "envelope"),
        (b"null", "envelope"),
        (b'"text"', "envelope"),
        (b"{}", "envelope"),
        (b'{"object":"page","entry":[]}', "envelope"),
        (b'{"object":"whatsapp_business_account"}', "envelope"),
        (b'{"object":"whatsapp_business_account","entry":{}}', "envelope"),
        (b'{"object":"whatsapp_business_account","entry":[]}', "empty"),
        (b'{"object":"whatsapp_business_account","entry":[7]}', "entry"),
        (b'{"object":"whatsapp_business_account","entry":[{"id":"2"}]}', "entry"),
        (b'{"object":"whatsapp_business_account","entry":[{"changes":[7]}]}', "change"),
        (b'{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages"}]}]}', "change"),
        (envelope({"messages": 7}), "not_a_list:messages"),
        (envelope({"messages": [7]}), "not_an_object:messages"),
        (envelope({"calls": [{"id": "wacid"}]}), "value:calls"),
        (envelope({"messages": []}), "empty"),
        (envelope({"messages": [message(id=None)]}), "no_id"),
        (envelope({"messages": [message(id="x" * 513)]}), "no_id"),
        (envelope({"messages": [message(id="é" * 300)]}), "no_id"),
        (envelope({"anything": 1}, field="account_update"), "field:account_update"),
        (envelope({"anything": 1}, field="Oi Ana é 5"), "field:Oi_Ana___5"),
        (envelope({"messages": [message()]}, field="smb_message_echoes"), "value:messages"),
    ],
)
def test_an_unknown_shape_is_stored_as_it_came(body: bytes, reason: str) -> None:
    """No shape is an error; each gives one item with its reason, which parses to itself again."""
    item = one_unknown(body)

    assert item.reason == reason
    assert parse(item.raw) == [item]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"no json",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1}{"b":2}',
        b"\xff\xfe{}",
        b'{"a":"\xe9"}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b"[" * 101 + b"]" * 101,
        b'{"a":' * 101 + b"1" + b"}" * 101,
        b"[" * 200_000,
        b'{"a":' * 200_000,
        rb'{"a":"\\"' + b",[" * 101,
        b'"' + rb"\"" * 200_000,
    ],
)  # fmt: skip
def test_what_is_no_json_or_too_deep_is_refused(body: bytes) -> None:
    """Only then is a body refused; nesting never reaches the interpreter's own limit."""
    with pytest.raises(BodyUnreadable) as caught:
        parse(body)

    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    ["[" * 5000, "}{" * 5000, '"[' * 5000, '\\"[' * 5000, "\\" * 5001 + "[" * 200, "\u2028[" * 300],
)
def test_brackets_in_a_customers_text_are_no_nesting(text: str) -> None:
    """Depth counts structure, not what stands in strings."""
    assert one_message(message(text={"body": text})).text == text


def test_a_hundred_levels_are_still_read() -> None:
    """The limit itself is allowed."""
    deep = b"[" * 100 + b"]" * 100

    assert one_unknown(deep).raw == deep


def test_numbers_beyond_reason_do_not_fail() -> None:
    """Huge integers and floats stay readable as text."""
    body = envelope({"messages": [message(type="location", location={"latitude": "LAT", "longitude": 1})]})
    huge = body.replace(b'"LAT"', b"1e999"), body.replace(b'"LAT"', b"9" * 5000)

    assert [one.text for one in map(_only_message, huge)] == [
        "[location: (1e999, 1)]",
        "[location: (" + "9" * 252 + " […], 1)]",
    ]


def _only_message(body: bytes) -> MessageItem:
    [item] = parse(body)
    assert isinstance(item, MessageItem)
    assert parse(item.raw) == [item]
    return item


def test_what_postgresql_refuses_is_replaced_everywhere() -> None:
    """NUL and lone surrogates leave text, ids and names; the raw bytes keep them."""
    bad = message(
        id="wamid.\x00", text={"body": "a\x00b\ud800"}, from_="551\udfff", from_user_id="BR.\ud800",
        context={"id": "q\x00"}, type="text",
    )  # fmt: skip
    contact = {"user_id": "BR.\ud800", "profile": {"name": "An\x00a"}}
    item = one_message(bad, contacts=[contact])
    seen = [item.external_id, item.text, item.contact.address, *item.contact.aliases, item.contact.name]

    assert not any("\x00" in str(text) or "\ud800" in str(text) or "\udfff" in str(text) for text in seen)
    assert (item.external_id, item.text, item.reply_to_external_id) == (
        "wamid.\ufffd",
        "a\ufffdb\ufffd",
        "q\ufffd",
    )
    assert item.contact.name == "An\ufffda"
    assert rb"a\u0000b\ud800" in item.raw


def test_a_surrogate_pair_is_one_character() -> None:
    """Escaped emoji arrive whole."""
    body = envelope({"messages": [message(text={"body": "😀"})]})

    assert rb"\ud83d\ude00" in body
    assert _only_message(body).text == "😀"


def test_an_over_long_text_is_cut_with_a_marker() -> None:
    """What is stored as text has a limit; the raw bytes keep the rest."""
    item = one_message(message(text={"body": "a" * 100_000}))

    assert item.text is not None
    assert len(item.text) == 65_536
    assert item.text.endswith("a […]")
    assert b"a" * 100_000 in item.raw


def test_a_name_is_one_short_line() -> None:
    """A name is shown in lists and sent to agents: no line breaks, at most 256 characters."""
    long = one_message(message(), contacts=[CONTACT | {"profile": {"name": "Ana\n" * 200}}]).contact.name
    none = one_message(message(), contacts=[CONTACT | {"profile": {"name": "  "}}]).contact.name
    username = one_message(message(), contacts=[CONTACT | {"profile": {"username": "ana.x"}}]).contact.name

    assert long is not None
    assert len(long) <= 256
    assert "\n" not in long
    assert (none, username) == (None, "ana.x")


@pytest.mark.parametrize(
    "timestamp",
    [None, "", "soon", "-1", "0", 0, -5, "1_790_000_000", " 1790000000", "1790000000.5", 1.5e9, True, [1],
     "1790000000000", "99999999999", "9" * 400, 10**40, "１７９０００００００", "1000000000"],
)  # fmt: skip
def test_a_time_that_cannot_be_is_no_time(timestamp: object) -> None:
    """Garbage, another unit, before WhatsApp or far away: no time, and so no window that never opens."""
    item = one_message(message(timestamp=timestamp))

    assert (item.sent_at, item.opens_window_until) == (None, None)


def test_a_time_as_a_number_is_read() -> None:
    """The documents promise a string; a number means the same."""
    assert one_message(message(timestamp=1790000000)).sent_at == datetime.fromtimestamp(1790000000, UTC)


def test_a_body_without_a_number_has_no_route() -> None:
    """Metadata may be missing or of another shape."""
    for metadata in (None, 7, {}, {"phone_number_id": None}, {"phone_number_id": "x" * 600}):
        [item] = parse(envelope({"messages": [message()], "metadata": metadata}))
        assert isinstance(item, MessageItem)
        assert item.route is None
