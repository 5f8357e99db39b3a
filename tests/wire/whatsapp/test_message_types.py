"""Every message type that WhatsApp documents, from recorded items: what the agent reads, what it starts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.ports.channel import ItemKind, MessageItem, UnknownItem
from tests.wire.whatsapp.wire import (
    CONTACT,
    FIXTURES,
    Json,
    envelope,
    message,
    one_message,
    one_unknown,
    parse_messages,
    recorded,
)


@dataclass(frozen=True)
class Expected:
    kind: ItemKind
    type: str
    text: str | None
    target: str | None = None
    reply_to: str | None = None
    window: bool = True


_ARRIVAL, _RECORD = ItemKind.ARRIVAL, ItemKind.RECORD
_OUT = "wamid.EXAMPLE.OUT.000"

EXPECTED = {
    "audio": Expected(_ARRIVAL, "audio", "[voice message]"),
    "image": Expected(_ARRIVAL, "image", "[image] a etiqueta"),
    "document": Expected(_ARRIVAL, "document", "[document: nota.pdf]"),
    "sticker": Expected(_ARRIVAL, "sticker", "[sticker]"),
    "video": Expected(_ARRIVAL, "video", "[video] o barulho"),
    "location": Expected(_ARRIVAL, "location", "[location: Praca Exemplo, Rua Ficticia, 1 (-23.55, -46.63)]"),
    "contacts": Expected(_ARRIVAL, "contacts", "[contact] Beto Exemplo, +55 11 98888-0000"),
    "reaction": Expected(_RECORD, "reaction", "[reaction: 👍]", reply_to=f"{_OUT}1"),
    "reaction_removed": Expected(_RECORD, "reaction", "[reaction removed]", reply_to=f"{_OUT}1"),
    "button_reply": Expected(_ARRIVAL, "interactive", "Plano ouro [tapped: plan:gold]", reply_to=f"{_OUT}2"),
    "list_reply": Expected(
        _ARRIVAL, "interactive", "Quinta 10h (unidade centro) [tapped: slot:3]", reply_to=f"{_OUT}3"
    ),
    "nfm_reply": Expected(_ARRIVAL, "interactive", "[form answered]\ncpf: 000", reply_to=f"{_OUT}4"),
    "button": Expected(_ARRIVAL, "button", "Confirmo [tapped: CONFIRM]", reply_to=f"{_OUT}5"),
    "interactive_missing": Expected(
        _ARRIVAL,
        "interactive",
        "[tapped a button or list entry; WhatsApp did not say which]",
        reply_to=f"{_OUT}6",
    ),
    "call_permission_reply": Expected(_RECORD, "interactive", "[call permission: accept]"),
    "order": Expected(_ARRIVAL, "order", "[order]\n2 x SKU-1 at 10.5 BRL"),
    "system": Expected(_RECORD, "system", "[User changed number]", window=False),
    "user_changed_user_id": Expected(_RECORD, "system", "[User changed id]", window=False),
    "request_welcome": Expected(_RECORD, "request_welcome", "[opened the chat]", window=False),
    "unsupported": Expected(
        _ARRIVAL, "unsupported", "[message of a type WhatsApp does not pass on: poll_creation]"
    ),
    "unavailable": Expected(_ARRIVAL, "unsupported", "[message that WhatsApp could not hand over]"),
    "edit": Expected(
        ItemKind.EDIT, "edit", "Oi, quero saber o PRECO", target="wamid.EXAMPLE.IN.0001", window=False
    ),
    "revoke": Expected(ItemKind.REVOKE, "revoke", None, target="wamid.EXAMPLE.IN.0003", window=False),
    "totally_new": Expected(
        _ARRIVAL, "totally_new", "[message of a type onevoice does not know: totally_new]"
    ),
    "forwarded": Expected(_ARRIVAL, "text", "olha isso"),
    "product_question": Expected(
        _ARRIVAL, "text", "tem azul?\n[about the product SKU-1]", reply_to=f"{_OUT}7"
    ),
    "ad_click": Expected(_ARRIVAL, "text", "Oi, vi o anuncio\n[came from an ad: Frete gratis]"),
    "from_scoped_id": Expected(_ARRIVAL, "text", "sou eu"),
}
UNKNOWN_REPLY = "[reply of a type onevoice does not know: x]"
REFUSED = {"group": "group", "without_sender": "no_sender"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_message_is_read(name: str) -> None:
    """The agent reads the customer's words and a short description of the rest."""
    expected = EXPECTED[name]
    item = one_message(recorded(f"message_{name}"))

    assert (item.kind, item.type, item.text) == (expected.kind, expected.type, expected.text)
    assert (item.target_external_id, item.reply_to_external_id) == (expected.target, expected.reply_to)
    assert (item.opens_window_until is not None) == expected.window
    assert item.external_id == recorded(f"message_{name}")["id"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_nobody_may_answer_is_stored_as_unknown(name: str) -> None:
    """A group's message, or one of nobody, never becomes somebody's private chat."""
    assert one_unknown(envelope({"messages": [recorded(f"message_{name}")]})).reason == REFUSED[name]


def test_every_recorded_message_has_its_expectation() -> None:
    """A new file in the folder is not silently ignored."""
    names = {path.stem.removeprefix("message_") for path in FIXTURES.glob("message_*.json")}

    assert names == set(EXPECTED) | set(REFUSED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_raw_bytes_parse_to_the_same_item(name: str) -> None:
    """An item can be read again from what was stored of it alone, its contact included."""
    item = one_message(recorded(f"message_{name}"), contacts=[CONTACT])

    assert parse(item.raw) == [item]


_LACKING: list[tuple[Json, str]] = [
    ({"text": None}, "[empty message]"),
    ({"text": {}}, "[empty message]"),
    ({"text": {"body": " \n "}}, "[empty message]"),
    ({"text": "oi"}, "[empty message]"),
    ({"text": {"body": ["oi"]}}, "[empty message]"),
    ({"text": {"body": " oi "}}, " oi "),
    ({"type": None, "text": None}, "[message WhatsApp does not pass on]"),
    ({"type": "unknown"}, "[message WhatsApp does not pass on]"),
    ({"type": "audio", "audio": {"voice": False}}, "[audio]"),
    ({"type": "audio"}, "[audio]"),
    ({"type": "image"}, "[image]"),
    ({"type": "document", "document": {"caption": "segue"}}, "[document] segue"),
    ({"type": "document", "document": {"filename": "a.pdf", "caption": "b"}}, "[document: a.pdf] b"),
    ({"type": "document", "document": {"filename": "../a\n[b\u202efdp.exe"}}, "[document: a [bfdp.exe]"),
    ({"type": "document", "document": {"filename": " .. "}}, "[document]"),
    ({"type": "location"}, "[location]"),
    ({"type": "location", "location": {"latitude": 0, "longitude": 0}}, "[location: (0, 0)]"),
    ({"type": "location", "location": {"latitude": "x"}}, "[location]"),
    ({"type": "contacts"}, "[contact]"),
    ({"type": "contacts", "contacts": [{}, 7]}, "[contact]\n[contact]"),
    ({"type": "button"}, "[tapped a button or list entry; WhatsApp did not say which]"),
    ({"type": "button", "button": {"payload": "P"}}, "[tapped: P]"),
    ({"type": "button", "button": {"text": "Sim", "payload": "Sim"}}, "Sim"),
    ({"type": "interactive", "interactive": {"type": "x"}}, UNKNOWN_REPLY),
    ({"type": "interactive", "interactive": {"type": "nfm_reply"}}, "[form answered]"),
    ({"type": "order"}, "[order]"),
    ({"type": "order", "order": {"text": "a", "product_items": [{}]}}, "[order]\n? x unnamed product\na"),
    ({"type": "reaction"}, "[reaction removed]"),
    ({"type": "reaction", "reaction": {"emoji": ""}}, "[reaction removed]"),
    ({"type": "system"}, "[system message]"),
    ({"type": "unsupported", "errors": "x", "unsupported": 3}, "[message WhatsApp does not pass on]"),
    ({"context": {"referred_product": 3}, "referral": [1]}, "oi"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "text"), _LACKING)
def test_a_message_that_lacks_its_payload_is_described_all_the_same(changes: Json, text: str) -> None:
    """The customer sent something; what WhatsApp left out must not lose that."""
    assert one_message(message(**changes)).text == text


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("no json", "[form answered] no json"),
        ("[" * 500, "[form answered] " + "[" * 500),
        ('["a"]', "[form answered]"),
        ('{"d":["seg","ter"],"ok":true,"n":{"a":1}}', '[form answered]\nd: seg, ter\nok: true\nn: {"a":1}'),
        (r'{"nome":"a\u0000b\ud800"}', "[form answered]\nnome: a\ufffdb\ufffd"),
    ],
)  # fmt: skip
def test_a_forms_answers_are_read_from_the_json_inside(response: str, text: str) -> None:
    """The answers are JSON in a string: unreadable ones are shown as they are."""
    reply = {"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": response}}

    assert one_message(message(type="interactive", interactive=reply)).text == text


@pytest.mark.parametrize("kind", ["edit", "revoke"])
@pytest.mark.parametrize(
    "payload", [None, {}, {"original_message_id": ""}, {"original_message_id": "x" * 600}]
)
def test_an_amendment_without_a_target_is_unknown(kind: str, payload: object) -> None:
    """Nothing can be amended or withdrawn when the message does not say what."""
    amended = message(type=kind, **{kind: payload})

    assert one_unknown(envelope({"messages": [amended]})).reason == f"{kind}_without_target"


def test_an_edit_of_a_caption_is_described_as_its_type() -> None:
    """The new text of an edited picture is its caption."""
    inner = {"type": "image", "image": {"caption": "nova"}}
    edited = message(type="edit", edit={"original_message_id": "wamid.A", "message": inner})

    assert one_message(edited).text == "[image] nova"


def test_a_long_list_is_shortened() -> None:
    """A thousand contacts do not fill the agent's window."""
    cards = [{"name": {"formatted_name": f"c{index}"}} for index in range(1000)]
    text = one_message(message(type="contacts", contacts=cards)).text

    assert text is not None
    assert text.endswith("[contact] c29\n[and 970 more]")


def test_a_type_of_any_length_is_bounded() -> None:
    """A type is a word for a column and a label."""
    item = one_message(message(type="x" * 5000))

    assert len(item.type) == 64
    assert item.kind is ItemKind.ARRIVAL


def test_items_are_of_the_kinds_the_flow_knows() -> None:
    """Several kinds in one body keep their order."""
    names = ["audio", "group", "reaction"]
    items = parse_messages(*(recorded(f"message_{name}") for name in names))

    assert [type(item) for item in items] == [MessageItem, UnknownItem, MessageItem]
