"""A voice message on the stand-in Graph API, and fetching it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.errors import MediaUnavailable
from onevoice.ports.channel import MediaRef
from onevoice.testing.graph_server import LoopbackGraph
from onevoice.vocabulary import MediaKind

VOICE = b"OggS" + bytes(range(256)) * 40
REF = MediaRef(kind=MediaKind.AUDIO, external_id="900000000000001", mime_type="audio/ogg; codecs=opus")
DOCUMENT = replace(REF, kind=MediaKind.DOCUMENT, mime_type="application/pdf")


async def fetch(channel: WhatsAppChannel, ref: MediaRef = REF) -> bytes:
    async with channel.download(ref) as stream:
        return b"".join([chunk async for chunk in stream.chunks])


async def refused(channel: WhatsAppChannel, ref: MediaRef = REF) -> MediaUnavailable:
    with pytest.raises(MediaUnavailable) as caught:
        await fetch(channel, ref)
    return caught.value


def steps(graph: LoopbackGraph) -> str:
    """``a`` for each address asked, ``b`` for each try at the bytes."""
    return "".join("b" if request.is_for_bytes else "a" for request in graph.media.requests)
