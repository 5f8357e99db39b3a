"""Who did what when, and why: the server's journal merged with what was seen from outside."""

from __future__ import annotations

from typing import Any

from onevoice.entrypoints.simulate.conversation_agent import AgentCall
from onevoice.entrypoints.simulate.journal import Event
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.record import Moment

# A call shorter than this is one line: asked and answered.
_AT_ONCE_SECONDS = 0.05

Line = tuple[float, str, str, str]


async def read_moments(play: Play) -> tuple[Moment, ...]:
    """All moments of one conversation, oldest first."""
    texts = await _read_texts(play)
    lines: list[Line] = list(play.noted)
    lines += [
        (play.stage.graph_seconds(message), "channel", f"the customer sees “{message.text}”", "")
        for message in play.received
    ]
    for call in play.calls:
        lines += _call_lines(call)
    for event in play.stage.journal.events:
        if event.conversation == play.conversation:
            lines += [(event.at, *line) for line in _journal_line(event, texts)]
    lines.sort(key=lambda line: line[0])
    return tuple(Moment(ms=play.ms(at), who=who, what=what, why=why) for at, who, what, why in lines)


async def _read_texts(play: Play) -> dict[str, str]:
    """Texts of outbound messages and names of owners by their ids; the journal holds ids alone."""
    if not play.conversation:
        return {}
    timeline = await play.stage.get(f"/conversations/{play.conversation}/timeline", limit="200")
    texts: dict[str, str] = {}
    for item in timeline["items"]:
        known: dict[str, Any] = item
        if known["kind"] == "outbound":
            texts[str(known["id"])] = f"“{known['text']}”"
        elif known["kind"] == "authority" and known["owner"]:
            texts[str(known["owner"]["id"])] = str(known["owner"]["name"])
    return texts


def _call_lines(call: AgentCall) -> list[Line]:
    asked = f"reads {_messages(len(call.texts))}"
    answered = " + ".join(f"“{text}”" for text in call.answers) or "nothing"
    if call.ended_at is None:
        return [(call.began_at, "agent", asked, "its answer never came")]
    if call.ended_at - call.began_at < _AT_ONCE_SECONDS:
        return [(call.began_at, "agent", f"{asked}, proposes {answered}", "")]
    return [
        (call.began_at, "agent", asked, ""),
        (call.ended_at, "agent", f"proposes {answered}", ""),
    ]


def _journal_line(event: Event, texts: dict[str, str]) -> list[tuple[str, str, str]]:
    match event.kind, event.state:
        case "turn", "running":
            claimed = _messages(event.data.get("messages"))
            return [("turn", f"claims {claimed}", _attempt(event.data.get("attempt")))]
        case "turn", _:
            return [("gate", event.state, _unless_same(event))]
        case "triage", "held":
            return [("outbox", f"try {event.data.get('try')}: not yet", event.reason)]
        case "triage", _:
            return [("triage", event.state, _decided_by(event))]
        case "outbound", _:
            text = "" if event.state == "sent" else texts.get(event.subject, "")
            return [("outbox", f"{event.state} {text}".rstrip(), _unless_same(event))]
        case "authority", _:
            owner = texts.get(str(event.data.get("owner")), "")
            return [("authority", f"{event.state} {owner}".rstrip(), event.reason)]
        case "effect", _:
            return [("effect", f"{event.data.get('tool')} {event.state}", event.reason)]
        case "media", _:
            return [("media", f"{event.data.get('kind')} {event.state}", event.reason)]
        case "transcription", _:
            return [("transcription", event.state, event.reason)]
        case _:
            return []


def _messages(count: object) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _attempt(attempt: object) -> str:
    return f"attempt {attempt}" if isinstance(attempt, int) and attempt > 1 else ""


def _unless_same(event: Event) -> str:
    return "" if event.reason == event.state else event.reason


def _decided_by(event: Event) -> str:
    decider = event.data.get("decider")
    return f"decided by {decider}" if decider else event.reason
