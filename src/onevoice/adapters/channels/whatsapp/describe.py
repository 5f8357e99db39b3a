"""What the agent reads of a message: the customer's own words, and in brackets what is not words.

A bracket is ours and in English; what stands outside one is the customer's, or the title they tapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from onevoice.adapters.channels.whatsapp.attachment import clean_filename
from onevoice.adapters.channels.whatsapp.shape import (
    NAME_CHARS_MAX,
    Object,
    as_integer,
    as_list,
    as_object,
    clean,
    cut,
    decode_json,
    encode_json,
    text_at,
)
from onevoice.errors import BodyUnreadable

UNAVAILABLE_CODE: Final = 131060
_LISTED_MAX: Final = 30


def describe(message: Object, message_type: str) -> str:
    """One message as text; never blank, whatever it lacks."""
    describer = _DESCRIBERS.get(message_type)
    unknown = f"[message of a type onevoice does not know: {message_type}]"
    said = describer(message) if describer else unknown
    # A form's answers are JSON inside JSON: what stands in there has not been cleaned yet.
    return cut(clean("\n".join([said, *_circumstances(message)])))


def describe_edit(message: Object) -> str:
    """The new text of an edited message."""
    inner = as_object(as_object(message.get("edit")).get("message"))
    inner_type = text_at(inner, "type", NAME_CHARS_MAX) or "unknown"
    return describe(inner, inner_type)


def _reaction(message: Object) -> str:
    emoji = text_at(as_object(message.get("reaction")), "emoji", NAME_CHARS_MAX)
    return f"[reaction: {emoji}]" if emoji else "[reaction removed]"


def _system(message: Object) -> str:
    system = as_object(message.get("system"))
    return f"[{text_at(system, 'body') or text_at(system, 'type', NAME_CHARS_MAX) or 'system message'}]"


def _circumstances(message: Object) -> list[str]:
    """What a message is about when its own words do not say it: the product asked about, the ad clicked."""
    lines: list[str] = []
    product = as_object(as_object(message.get("context")).get("referred_product"))
    if sku := text_at(product, "product_retailer_id", NAME_CHARS_MAX):
        lines.append(f"[about the product {sku}]")
    referral = as_object(message.get("referral"))
    if headline := text_at(referral, "headline", NAME_CHARS_MAX) or text_at(referral, "body", NAME_CHARS_MAX):
        lines.append(f"[came from an ad: {headline}]")
    return lines


def _text(message: Object) -> str:
    return text_at(as_object(message.get("text")), "body") or "[empty message]"


def _media(kind: str) -> Callable[[Object], str]:
    def describe_media(message: Object) -> str:
        caption = text_at(as_object(message.get(kind)), "caption")
        return f"[{kind}] {caption}" if caption else f"[{kind}]"

    return describe_media


def _audio(message: Object) -> str:
    return "[voice message]" if as_object(message.get("audio")).get("voice") is True else "[audio]"


def _document(message: Object) -> str:
    document = as_object(message.get("document"))
    # As it is shown beside the file: a name that climbs, turns or breaks lines does so nowhere.
    filename = clean_filename(text_at(document, "filename", NAME_CHARS_MAX))
    caption = text_at(document, "caption")
    label = f"[document: {filename}]" if filename else "[document]"
    return f"{label} {caption}" if caption else label


def _location(message: Object) -> str:
    location = as_object(message.get("location"))
    place = [text_at(location, key, NAME_CHARS_MAX) for key in ("name", "address")]
    degrees = [text_at(location, key, NAME_CHARS_MAX) for key in ("latitude", "longitude")]
    where = ", ".join(part for part in place if part)
    if all(degrees):
        where = f"{where} ({degrees[0]}, {degrees[1]})".strip()
    return f"[location: {where}]" if where else "[location]"


def _contacts(message: Object) -> str:
    cards = [_contact_card(as_object(card)) for card in as_list(message.get("contacts"))]
    return "\n".join(_shortened(cards)) or "[contact]"


def _contact_card(card: Object) -> str:
    names = as_object(card.get("name"))
    name = text_at(names, "formatted_name", NAME_CHARS_MAX) or text_at(names, "first_name", NAME_CHARS_MAX)
    phones = [as_object(phone) for phone in as_list(card.get("phones"))[:_LISTED_MAX]]
    numbers = [
        text_at(phone, "phone", NAME_CHARS_MAX) or text_at(phone, "wa_id", NAME_CHARS_MAX) for phone in phones
    ]
    said = ", ".join(part for part in [name, *numbers] if part)
    return f"[contact] {said}" if said else "[contact]"


def _interactive(message: Object) -> str:
    interactive = as_object(message.get("interactive"))
    kind = text_at(interactive, "type", NAME_CHARS_MAX)
    # Seen with the key missing and the reason in the value's errors: the customer did tap something.
    if kind is None:
        return "[tapped a button or list entry; WhatsApp did not say which]"
    reply = as_object(interactive.get(kind))
    if kind in {"button_reply", "list_reply"}:
        return _tapped(reply, title="title", identifier="id", detail="description")
    if kind == "nfm_reply":
        return _form(reply)
    if kind == "call_permission_reply":
        return f"[call permission: {text_at(reply, 'response', NAME_CHARS_MAX) or 'answered'}]"
    return f"[reply of a type onevoice does not know: {kind}]"


def _button(message: Object) -> str:
    return _tapped(as_object(message.get("button")), title="text", identifier="payload", detail="")


def _tapped(reply: Object, *, title: str, identifier: str, detail: str) -> str:
    """The title reads as what the customer said; the id behind it is for agents that act on it."""
    said = text_at(reply, title)
    behind = text_at(reply, identifier, NAME_CHARS_MAX)
    more = text_at(reply, detail)
    if said is None:
        return (
            f"[tapped: {behind}]" if behind else "[tapped a button or list entry; WhatsApp did not say which]"
        )
    said = f"{said} ({more})" if more else said
    return said if behind in {None, said} else f"{said} [tapped: {behind}]"


def _form(reply: Object) -> str:
    encoded = text_at(reply, "response_json")
    if encoded is None:
        return "[form answered]"
    try:
        answers = as_object(decode_json(encoded.encode()))
    except BodyUnreadable:
        return f"[form answered] {encoded}"
    # The token joins the answer to the form that was sent; it is no answer.
    keys = [key for key in answers if key != "flow_token"]
    lines = [f"{cut(key, NAME_CHARS_MAX)}: {_answer(answers[key])}" for key in keys]
    return "\n".join(["[form answered]", *_shortened(lines)])


def _answer(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_answer(element) for element in as_list(cast("object", value)))
    return value if isinstance(value, str) else encode_json(value).decode()


def _order(message: Object) -> str:
    order = as_object(message.get("order"))
    lines = [_order_line(as_object(line)) for line in as_list(order.get("product_items"))]
    note = text_at(order, "text")
    return "\n".join(["[order]", *_shortened(lines), *([note] if note else [])])


def _order_line(line: Object) -> str:
    quantity = text_at(line, "quantity", NAME_CHARS_MAX) or "?"
    product = text_at(line, "product_retailer_id", NAME_CHARS_MAX) or "unnamed product"
    price = text_at(line, "item_price", NAME_CHARS_MAX)
    currency = text_at(line, "currency", NAME_CHARS_MAX) or ""
    return f"{quantity} x {product} at {price} {currency}".rstrip() if price else f"{quantity} x {product}"


def _unsupported(message: Object) -> str:
    codes = [as_integer(as_object(error).get("code")) for error in as_list(message.get("errors"))]
    # The first message after a click on an ad often comes so: the customer wrote, and the words are lost.
    if UNAVAILABLE_CODE in codes:
        return "[message that WhatsApp could not hand over]"
    what = text_at(as_object(message.get("unsupported")), "type", NAME_CHARS_MAX)
    return (
        f"[message of a type WhatsApp does not pass on: {what}]"
        if what
        else "[message WhatsApp does not pass on]"
    )


def _shortened(lines: list[str]) -> list[str]:
    hidden_count = len(lines) - _LISTED_MAX
    return lines if hidden_count <= 0 else [*lines[:_LISTED_MAX], f"[and {hidden_count} more]"]


_DESCRIBERS: Final[Mapping[str, Callable[[Object], str]]] = {
    "text": _text,
    "image": _media("image"),
    "video": _media("video"),
    "sticker": _media("sticker"),
    "audio": _audio,
    "document": _document,
    "location": _location,
    "contacts": _contacts,
    "interactive": _interactive,
    "button": _button,
    "order": _order,
    "unsupported": _unsupported,
    "unknown": _unsupported,
    "reaction": _reaction,
    "system": _system,
    "request_welcome": lambda _: "[opened the chat]",
}
