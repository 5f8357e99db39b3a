"""The bodies of the send call, one shape for each type of part (wire format 1.10). Pure."""

from __future__ import annotations

from typing import Final

from onevoice.adapters.channels.whatsapp.contact import is_phone
from onevoice.adapters.channels.whatsapp.shape import Object, as_list, as_object
from onevoice.ports.channel import Delivery

CORRELATION_CHARS_MAX: Final = 512
MEDIA_TYPES: Final = frozenset({"image", "document", "audio", "video"})


def message_body(delivery: Delivery) -> Object:
    """The body of the send call."""
    return {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to" if is_phone(delivery.address) else "recipient": delivery.address,
        **_content(delivery),
        "biz_opaque_callback_data": delivery.correlation_id[:CORRELATION_CHARS_MAX],
    }


def _content(delivery: Delivery) -> Object:
    payload = dict(delivery.payload)
    type_ = payload.get("type")
    if type_ in MEDIA_TYPES:
        kept = {key: payload[key] for key in ("caption", "filename", "voice") if key in payload}
        return {"type": type_, str(type_): {"id": delivery.uploaded_as, **kept}}
    match type_:
        case "buttons":
            return _interactive("button", delivery.text, {"buttons": _replies(payload)})
        case "menu":
            action: Object = {"button": payload["button"], "sections": payload["sections"]}
            return _interactive("list", delivery.text, action)
        case "template":
            return {"type": "template", "template": _template(payload)}
        case "reaction":
            reaction = {"message_id": payload["message"], "emoji": payload["emoji"]}
            return {"type": "reaction", "reaction": reaction}
        case _:
            return {"type": "text", "text": {"body": delivery.text, "preview_url": False}}


def _interactive(type_: str, text: str, action: Object) -> Object:
    return {"type": "interactive", "interactive": {"type": type_, "body": {"text": text}, "action": action}}


def _replies(payload: Object) -> list[Object]:
    return [{"type": "reply", "reply": as_object(button)} for button in as_list(payload["buttons"])]


def _template(payload: Object) -> Object:
    template: Object = {"name": payload["name"], "language": {"code": payload["language"]}}
    if payload.get("components"):
        template["components"] = payload["components"]
    return template
