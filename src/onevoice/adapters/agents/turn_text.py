"""A turn for a model: the burst, the past, and what an adapter adds to the instructions. Pure.

Texts in square brackets are marks of onevoice; the burst instructions tell the model what they are.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Literal

from onevoice.vocabulary import BurstMessage, EffectState, HistoryItem, TurnContext, UntoldEffect

OPERATOR_MARK = "[human colleague]"
BEGINNING = "[the conversation so far]"
STATE_MARKS = {"uncertain": "[may not have arrived]", "on_its_way": "[on its way to the customer]"}
EFFECTS_HEADING = (
    "Already done in this conversation, and the customer has not been told yet. Tell them, and do not do it "
    "again:"
)
EFFECT_STATES = {
    EffectState.DONE: "done",
    EffectState.FAILED: "failed",
    EffectState.STARTED: "begun, and nobody knows whether it happened",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """Consecutive texts of one side; ``user`` comes first and the two alternate."""

    role: Literal["user", "assistant"]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownImage:
    """A customer's image as a model is shown it."""

    content: bytes
    mime_type: str

    @property
    def base64(self) -> str:
        return b64encode(self.content).decode("ascii")


BurstPart = str | ShownImage


def burst_parts(context: TurnContext) -> tuple[BurstPart, ...]:
    """One text per message of the burst, in order, a transcription with its label; an image right after its text."""
    parts: list[BurstPart] = []
    for message in context.messages:
        parts.append(_burst_text(message, context.transcribed_label))
        media = message.media
        if media is not None and media.content is not None and media.mime_type is not None:
            parts.append(ShownImage(content=media.content, mime_type=media.mime_type))
    return tuple(parts)


def past_turns(context: TurnContext) -> tuple[PastTurn, ...]:
    """The past as the customer saw it. Colleagues speak on the assistant's side and are marked."""
    turns: list[PastTurn] = []
    for item in context.history:
        text = _past_text(item)
        if text is None:
            continue
        role = "assistant" if item.role in ("assistant", "operator") else "user"
        if not turns and role == "assistant":
            # Providers want the first word to be the user's.
            turns.append(PastTurn(role="user", texts=(BEGINNING,)))
        if turns and turns[-1].role == role:
            turns[-1] = PastTurn(role=role, texts=(*turns[-1].texts, text))
        else:
            turns.append(PastTurn(role=role, texts=(text,)))
    return tuple(turns)


def added_instructions(context: TurnContext, burst_instructions: str) -> str:
    """What stands after the agent's own instructions; the untold effects last, so that the rest can be cached."""
    paragraphs = [burst_instructions.strip()]
    if context.effects:
        paragraphs.append("\n".join([EFFECTS_HEADING, *(_effect_line(effect) for effect in context.effects)]))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _burst_text(message: BurstMessage, label: str) -> str:
    if message.transcription and message.transcription.strip():
        return f"{label} {message.transcription.strip()}".strip()
    # Providers refuse an empty text; an audio nobody could transcribe is still a message.
    return message.text if message.text and message.text.strip() else f"[{message.type}]"


def _past_text(item: HistoryItem) -> str | None:
    if not item.text.strip():
        return None
    marks = [OPERATOR_MARK] if item.role == "operator" else []
    if item.state in STATE_MARKS:
        marks.append(STATE_MARKS[item.state])
    return " ".join([*marks, item.text])


def _effect_line(effect: UntoldEffect) -> str:
    args = json.dumps(effect.args, ensure_ascii=False, sort_keys=True, default=str)
    result = (
        "" if effect.result is None else f": {json.dumps(effect.result, ensure_ascii=False, default=str)}"
    )
    return f"- {effect.tool} {args} ({EFFECT_STATES.get(effect.state, effect.state.value)}){result}"
