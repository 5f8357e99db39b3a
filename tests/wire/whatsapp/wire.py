"""Building webhooks as Meta sends them, and reading the recorded ones."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import httpx2

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.ports.channel import EchoItem, Item, MessageItem, StatusItem, UnknownItem, WebhookRequest
from onevoice.vocabulary import AccountId, ChannelName

Json = dict[str, object]

FIXTURES = Path(__file__).parent / "fixtures"
ROUTE = "100000000000001"
SECRET = "app-secret-example"
CONTACT: Json = {
    "profile": {"name": "Ana Exemplo", "username": "ana.exemplo"},
    "wa_id": "5511999990000",
    "user_id": "BR.1000000000000000001",
    "parent_user_id": "BR.ENT.2000000000000000001",
}


def recorded(name: str) -> Json:
    return cast("Json", json.loads((FIXTURES / f"{name}.json").read_text()))


def envelope(value: Json, *, field: str = "messages") -> bytes:
    """A body with one change; the number's metadata is added."""
    metadata = {"display_phone_number": "551130000000", "phone_number_id": ROUTE}
    whole = {"messaging_product": "whatsapp", "metadata": metadata, **value}
    change = {"field": field, "value": whole}
    return json.dumps(
        {"object": "whatsapp_business_account", "entry": [{"id": "200000000000002", "changes": [change]}]}
    ).encode()


def message(**changes: object) -> Json:
    """A text message; ``changes`` with a value of None remove a key."""
    whole: Json = {
        "from": "5511999990000",
        "id": "wamid.EXAMPLE.IN.0001",
        "timestamp": "1790000000",
        "type": "text",
        "text": {"body": "oi"},
    } | {key.rstrip("_"): value for key, value in changes.items()}
    return {key: value for key, value in whole.items() if value is not None}


def parse_messages(*messages: object, contacts: object = None) -> list[Item]:
    value: Json = {"messages": list(messages)}
    if contacts is not None:
        value["contacts"] = contacts
    return list(parse(envelope(value)))


def one_message(*messages: object, contacts: object = None) -> MessageItem:
    [item] = parse_messages(*messages, contacts=contacts)
    assert isinstance(item, MessageItem)
    return item


def one_status(status: Json) -> StatusItem:
    [item] = parse(envelope({"statuses": [status]}))
    assert isinstance(item, StatusItem)
    return item


def one_echo(echo: Json, **value: object) -> EchoItem:
    [item] = parse(envelope({"message_echoes": [echo], **value}, field="smb_message_echoes"))
    assert isinstance(item, EchoItem)
    return item


def one_unknown(body: bytes) -> UnknownItem:
    [item] = parse(body)
    assert isinstance(item, UnknownItem)
    return item


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def webhook(body: bytes, signature: str | None, **headers: str) -> WebhookRequest:
    signed = {} if signature is None else {"x-hub-signature-256": signature}
    return WebhookRequest(method="POST", url="/webhooks/loja", headers=signed | headers, query={}, body=body)


def make_channel(
    http: httpx2.AsyncClient,
    *,
    graph_url: str = "http://127.0.0.1:9/v23.0",
    monotonic: Callable[[], float] = lambda: 0.0,
    secrets: tuple[str, ...] = (SECRET,),
    files: httpx2.AsyncClient | None = None,
    access_token: str = "token-example",  # noqa: S107 - Of the stand-in.
    typing_indicator: bool = True,
) -> WhatsAppChannel:
    """A channel whose clock stands still unless it is given another."""
    return WhatsAppChannel(
        name=ChannelName("loja"),
        account=AccountId("default"),
        phone_number_id=ROUTE,
        access_token=access_token,
        app_secrets=secrets,
        verify_token="verify-example",
        graph_url=graph_url,
        http=http,
        files=files or http,
        monotonic=monotonic,
        typing_indicator=typing_indicator,
    )
