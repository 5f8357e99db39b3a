"""The HTTP agent's body and answer (contract section 4) as pure functions: a context out, a proposal in."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from onevoice.adapters.agents.answer_content import decode_message
from onevoice.adapters.agents.answer_fields import JsonObject, as_object, bad_answer, list_at, text_at
from onevoice.vocabulary import (
    BurstMessage,
    HandoffRequest,
    HistoryItem,
    Media,
    OutgoingMessage,
    Proposal,
    TurnContext,
    UntoldEffect,
    Usage,
)

PROTOCOL = 1
MESSAGES_MAX = 20
TOKENS_MAX = 2**31 - 1
UNNAMED_HANDOFF = "agent_request"

_REASON_CODE = re.compile(r"[a-z_]{1,64}")


def encode_context(context: TurnContext, *, deadline_seconds: float) -> bytes:
    """The request body; ``deadline_seconds`` is how long the caller really waits."""
    body: JsonObject = {
        "protocol": PROTOCOL,
        "turn": {
            "id": str(context.turn_id),
            "attempt": context.attempt,
            "authority_version": context.authority_version,
            "correlation_id": context.correlation_id,
            "deadline_seconds": deadline_seconds,
        },
        "conversation": {
            "id": str(context.conversation_id),
            "channel": context.channel,
            "contact": {"id": context.contact_id, "name": context.contact_name},
        },
        "effects": [_effect(effect) for effect in context.effects],
        "history": [_history_item(item) for item in context.history],
        "messages": [_burst_message(message) for message in context.messages],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def decode_proposal(body: bytes) -> Proposal:
    """The proposal in a 200's body; raises ``AgentError`` ``agent_bad_answer`` for anything else.

    Keys that are absent or null count as not given, unknown ones are ignored.
    """
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_answer("the body is not JSON") from None
    answer = as_object(parsed, "the body")
    return Proposal(
        messages=_messages(answer),
        handoff=_handoff(answer),
        confidence=_confidence(answer),
        wrote=_wrote(answer),
        usage=_usage(answer),
    )


def _effect(effect: UntoldEffect) -> JsonObject:
    return {"tool": effect.tool, "args": effect.args, "state": effect.state, "result": effect.result}


def _history_item(item: HistoryItem) -> JsonObject:
    fields: JsonObject = {"role": item.role, "text": item.text, "at": _instant(item.at)}
    if item.state is not None:
        fields["state"] = item.state
    return fields


def _burst_message(message: BurstMessage) -> JsonObject:
    fields: JsonObject = {
        "id": str(message.id),
        "type": message.type,
        "text": message.text,
        "at": _instant(message.at),
    }
    if message.transcription is not None:
        fields["transcription"] = message.transcription
    if message.media is not None:
        fields["media"] = _media(message.media)
    return fields


def _media(media: Media) -> JsonObject:
    return {
        "id": str(media.id),
        "kind": media.kind,
        "state": media.state,
        "reason": media.reason,
        "mime_type": media.mime_type,
        "filename": media.filename,
        "size_bytes": media.size_bytes,
        "url": media.url,
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _messages(answer: JsonObject) -> tuple[OutgoingMessage, ...]:
    entries = list_at(answer, "messages", items_max=MESSAGES_MAX)
    messages = [decode_message(entry) for entry in entries]
    return tuple(message for message in messages if not message.is_blank)


def _handoff(answer: JsonObject) -> HandoffRequest | None:
    """An unusable reason does not undo the wish for a human: the agent's words move into the note."""
    given = answer.get("handoff")
    if given is None:
        return None
    handoff = as_object(given, "handoff")
    reason, note, summary = (text_at(handoff, key) for key in ("reason", "note", "summary"))
    if reason is None or not _REASON_CODE.fullmatch(reason):
        note = "\n".join(part for part in (reason, note) if part) or None
        reason = UNNAMED_HANDOFF
    return HandoffRequest(reason=reason, note=note, summary=summary)


def _confidence(answer: JsonObject) -> float | None:
    given = answer.get("confidence")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise bad_answer("confidence is not a number from 0 to 1")
    return float(given)


def _wrote(answer: JsonObject) -> bool:
    given = answer.get("wrote")
    if given is None:
        return False
    if not isinstance(given, bool):
        raise bad_answer("wrote is not true or false")
    return given


def _usage(answer: JsonObject) -> Usage | None:
    given = answer.get("usage")
    if given is None:
        return None
    usage = as_object(given, "usage")
    return Usage(
        input_tokens=_tokens(usage, "input_tokens"),
        output_tokens=_tokens(usage, "output_tokens"),
        model=text_at(usage, "model"),
    )


def _tokens(usage: JsonObject, key: str) -> int:
    given = usage.get(key)
    if given is None:
        return 0
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= TOKENS_MAX:
        raise bad_answer(f"usage.{key} is not a count of tokens")
    return given
