"""WhatsApp Business Cloud API."""

from onevoice.adapters.channels.whatsapp.channel import WhatsAppChannel

__all__ = ["WhatsAppChannel"]
