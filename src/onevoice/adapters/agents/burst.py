"""What the customer said, whatever kind of message carried it."""

from __future__ import annotations

import re

from onevoice.vocabulary import BurstMessage

_MARKS = re.compile(r"\[[^\]]*\]")


def spoken_text(message: BurstMessage) -> str:
    """The customer's own words, without a label; empty when the message has none."""
    return (message.transcription or message.text or "").strip()


def own_words(message: BurstMessage) -> str:
    """The same without onevoice's marks in square brackets, such as what kind of file a message is."""
    return spoken_text(message) if message.transcription else _MARKS.sub("", spoken_text(message)).strip()
