"""Loaded by every Python process of a test: each message leaves twice, as after a blind retry."""

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.ports.channel import Delivery, Outcome

_deliver = WhatsAppChannel.deliver


async def _deliver_twice(channel: WhatsAppChannel, delivery: Delivery) -> Outcome:
    await _deliver(channel, delivery)
    return await _deliver(channel, delivery)


WhatsAppChannel.deliver = _deliver_twice
