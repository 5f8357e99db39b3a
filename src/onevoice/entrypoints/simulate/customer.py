"""The customer's side: webhooks as Meta sends them, signed with the app's secret."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Final

from onevoice.entrypoints.simulate.stopwatch import wall_seconds

SIGNATURE_HEADER: Final = "x-hub-signature-256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """The business's number, as the server's configuration knows it."""

    channel: str
    phone_number_id: str
    app_secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A body with the headers that prove where it comes from."""

    body: bytes
    headers: dict[str, str]


def text_content(text: str) -> dict[str, object]:
    """What makes a message a text."""
    return {"type": "text", "text": {"body": text}}


def voice_content(media_id: str) -> dict[str, object]:
    """What makes a message a voice note; its file is fetched by the id."""
    audio = {"id": media_id, "mime_type": "audio/ogg; codecs=opus", "voice": True}
    return {"type": "audio", "audio": audio}


def message_webhook(
    number: Number, *, contact: str, name: str, external_id: str, content: dict[str, object]
) -> Webhook:
    """One message of a customer."""
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "551130000000", "phone_number_id": number.phone_number_id},
        "contacts": [{"wa_id": contact, "profile": {"name": name}}],
        "messages": [
            {
                "from": contact,
                "id": external_id,
                "timestamp": str(int(wall_seconds())),
                **content,
            }
        ],
    }
    change = {"field": "messages", "value": value}
    body = json.dumps({
        "object": "whatsapp_business_account",
        "entry": [{"id": "200000000000002", "changes": [change]}],
    }).encode()  # fmt: skip
    signature = hmac.new(number.app_secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", SIGNATURE_HEADER: f"sha256={signature}"}
    return Webhook(body=body, headers=headers)
