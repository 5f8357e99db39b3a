"""A burst as an agent reads it: one user turn with one part per message."""

from __future__ import annotations

from onevoice.vocabulary import BurstMessage, TurnContext

NOT_TRANSCRIBED = "[audio not transcribed]"


def spoken_text(message: BurstMessage) -> str:
    """The customer's own words, without a label; empty when the message has none."""
    return (message.transcription or message.text or "").strip()


def burst_parts(context: TurnContext) -> tuple[str, ...]:
    """One part per message, oldest first: transcriptions carry their label, an unheard audio says so."""
    return tuple(_part(message, context.transcribed_label) for message in context.messages)


def _part(message: BurstMessage, label: str) -> str:
    if message.transcription:
        return f"{label} {message.transcription}"
    if message.type == "audio" and not message.text:
        return NOT_TRANSCRIBED
    return message.text or f"[{message.type}]"
