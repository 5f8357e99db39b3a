"""The business answered from its own phone: a takeover by the device, unless the message is our own."""

from __future__ import annotations

from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Channel, EchoItem


async def receive_echo(runtime: Runtime, channel: Channel, item: EchoItem) -> None:
    raise AssertionError("built next")
