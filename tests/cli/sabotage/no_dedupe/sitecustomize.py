"""Loaded by every Python process of a test: the server takes each webhook for a new message."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.ports.channel import Item, MessageItem

_parse = WhatsAppChannel.parse
_numbers = count()


def _parse_anew(channel: WhatsAppChannel, body: bytes) -> Sequence[Item]:
    return [
        replace(item, external_id=f"{item.external_id}.{next(_numbers)}")
        if isinstance(item, MessageItem)
        else item
        for item in _parse(channel, body)
    ]


WhatsAppChannel.parse = _parse_anew
