"""What the customer said, whatever kind of message carried it."""

from __future__ import annotations

from onevoice.vocabulary import BurstMessage


def spoken_text(message: BurstMessage) -> str:
    """The customer's own words, without a label; empty when the message has none."""
    return (message.transcription or message.text or "").strip()
