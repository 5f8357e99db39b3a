"""The items of a thread as they are shown: bubbles for words, lines for what was decided and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast
from uuid import UUID

from onevoice.entrypoints.console.attachments import (
    Attachment,
    Said,
    attachment_of,
    caption_of,
    said_of,
)
from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.times import Times
from onevoice.entrypoints.console.words import OUTBOUND, REASONS, TURNS, word_of
from onevoice.entrypoints.http.api.schemas import (
    AuthorityItem,
    EffectItem,
    InboundItem,
    Note,
    OutboundItem,
    TimelineItem,
    TriageItem,
    TurnItem,
)
from onevoice.vocabulary import Author, AuthorityState, InboundState, OutboundState, TurnState

__all__ = ["Entry", "Reader", "describe_value"]

_VALUE_CHARS_MAX = 240
# What each state asks of whoever reads it.
_TONES: Mapping[str, str] = {
    "held": "wait",
    "due": "wait",
    "sending": "wait",
    "sent": "ok",
    "delivered": "ok",
    "read": "seen",
    "played": "seen",
    "failed": "bad",
    "parked": "bad",
    "uncertain": "bad",
    "cancelled": "gone",
    "superseded": "gone",
    "revoked": "gone",
}
_RELEASABLE = {OutboundState.PARKED}
_DISCARDABLE = {OutboundState.PARKED, OutboundState.UNCERTAIN}
_ADOPTABLE = {
    OutboundState.REVOKED,
    OutboundState.PARKED,
    OutboundState.CANCELLED,
    OutboundState.SUPERSEDED,
    OutboundState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``shape`` is ``bubble`` or ``line``. ``who`` is ``customer``, ``ai``, ``operator``, ``device``, ``system`` or
    ``note``; ``tone`` of the state as in the style sheet. ``actions`` name what a button may ask for."""

    id: str
    shape: str
    at: datetime
    time: str
    full_time: str
    who: str
    author: str = ""
    text: str = ""
    state: str = ""
    detail: str = ""
    fault: str = ""
    tone: str = "quiet"
    outbound_id: UUID | None = None
    actions: tuple[str, ...] = ()
    starts_day: str = ""
    facts: tuple[tuple[str, str], ...] = field(default=())
    file: Attachment | None = None
    said: Said | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Makes entries of the timeline's items. ``may_act``: nobody else holds the conversation; ``owns``: its reader.
    ``ai_may_speak``: no human is to speak in the AI's place."""

    times: Times
    names: Mapping[UUID, str]
    contact_name: str
    may_act: bool
    owns: bool
    ai_may_speak: bool

    @property
    def texts(self) -> Mapping[str, str]:
        return TEXTS[self.times.language]

    def read(self, item: TimelineItem) -> Entry | None:
        """The entry of an item; ``None`` for what would only repeat what a bubble shows."""
        match item:
            case InboundItem():
                return self._inbound(item)
            case OutboundItem():
                return self._outbound(item)
            case TurnItem():
                return self._turn(item)
            case EffectItem():
                return self._effect(item)
            case AuthorityItem():
                return self._authority(item)
            case TriageItem():
                return self._triage(item)

    def note(self, note: Note) -> Entry:
        name = note.operator.name if note.operator else None
        return self._entry(
            f"note-{note.id}",
            note.at,
            shape="bubble",
            who="note",
            author=name or self.texts["system_name"],
            text=note.text,
            state=self.texts["note"],
        )

    def _inbound(self, item: InboundItem) -> Entry:
        language = self.times.language
        text = item.text or f"[{item.type}]"
        file = said = None
        if item.media is not None:
            file = attachment_of(item.media, language, is_voice="[voice message]" in text)
        if item.media is not None or item.transcription:
            said = said_of(item, language)
            text = caption_of(item.text, item.media)
        state, tone = "", "quiet"
        if item.state is InboundState.OPEN:
            state, tone = self.texts["open"], "wait"
        elif item.state is InboundState.CLAIMED:
            state, tone = self.texts["claimed"], "wait"
        elif item.state is InboundState.CANCELLED:
            state, tone = self.texts["cancelled_inbound"], "gone"
        elif item.state is InboundState.WITHDRAWN:
            state, tone = self.texts["withdrawn_inbound"], "gone"
        if item.state is InboundState.RECORDED:
            return self._entry(
                f"in-{item.id}", item.at, shape="line", who="customer", text=f"{self.contact_name}: {text}"
            )
        return self._entry(
            f"in-{item.id}",
            item.at,
            shape="bubble",
            who="customer",
            author=self.contact_name,
            text=text,
            state=state,
            tone=tone,
            file=file,
            said=said,
        )

    def _outbound(self, item: OutboundItem) -> Entry:
        author = self.texts[item.author.value]
        if item.operator is not None:
            author = self.names.get(item.operator, author)
        details = [word_of(REASONS, item.reason, self.times.language)] if item.reason else []
        if item.part_count > 1:
            details.append(self.texts["part_of"].format(part=item.part, count=item.part_count))
        if item.attempt_count > 1:
            details.append(self.texts["attempts"].format(count=item.attempt_count))
        file = None if item.media is None else attachment_of(item.media, self.times.language)
        fault = "" if item.fault is None else " ".join(filter(None, (item.fault.code, item.fault.detail)))
        return self._entry(
            f"out-{item.id}",
            item.at,
            shape="bubble",
            who=item.author.value,
            author=author,
            text=item.text if item.media is None else caption_of(item.text, item.media),
            state=word_of(OUTBOUND, item.state, self.times.language),
            detail=" · ".join(filter(None, details)),
            fault=fault,
            tone=_TONES[str(item.state)],
            outbound_id=item.id,
            actions=self._actions(item),
            facts=self._choices(item),
            file=file,
        )

    def _choices(self, item: OutboundItem) -> tuple[tuple[str, str], ...]:
        rows = [row.title for section in item.menu.sections for row in section.rows] if item.menu else []
        titles = [*(button.title for button in item.buttons or ()), *rows]
        return ((self.texts["choices"], " · ".join(titles)),) if titles else ()

    def _actions(self, item: OutboundItem) -> tuple[str, ...]:
        """Only what the step behind the button would allow as things stand."""
        actions: list[str] = []
        may_speak = self.ai_may_speak or item.author is Author.OPERATOR
        is_parked = item.state in _RELEASABLE and item.reason != "authority_revoked"
        if self.may_act and may_speak and is_parked:
            actions.append("release")
        if self.owns and item.state in _ADOPTABLE:
            actions.append("mine")
        if self.may_act and item.state in _DISCARDABLE:
            actions.append("discard")
        return tuple(actions)

    def _turn(self, item: TurnItem) -> Entry | None:
        if item.state is TurnState.SEALED:
            # Its messages say it themselves.
            return None
        details = [word_of(REASONS, item.reason, self.times.language)] if item.reason else []
        if item.confidence is not None:
            details.append(self.texts["confidence"].format(percent=round(item.confidence * 100)))
        if item.wrote:
            details.append(self.texts["wrote"])
        is_bad = item.state in {TurnState.FAILED, TurnState.ABANDONED}
        return self._entry(
            f"turn-{item.id}",
            item.at,
            shape="line",
            who="ai",
            text=word_of(TURNS, item.state, self.times.language),
            detail=" · ".join(filter(None, details)),
            tone="bad" if is_bad else "quiet",
        )

    def _effect(self, item: EffectItem) -> Entry:
        told = ""
        if item.state == "done":
            told = self.texts["effect_told" if item.told_at else "effect_untold"]
        reason = word_of(REASONS, item.reason, self.times.language) if item.reason else ""
        return self._entry(
            f"effect-{item.id}",
            item.at,
            shape="line",
            who="ai",
            text=f"{item.tool}: {self.texts[f'effect_{item.state}']}",
            detail=" · ".join(filter(None, (describe_value(item.args), told, reason))),
            tone="bad" if item.state == "failed" else "quiet",
        )

    def _authority(self, item: AuthorityItem) -> Entry:
        owner = (item.owner.name if item.owner else None) or self.texts["nobody"]
        has_owner = item.owner is not None
        match item.to:
            case AuthorityState.AI_ACTIVE:
                name = "to_ai"
            case AuthorityState.AI_SUSPENDED:
                name = "to_suspended"
            case AuthorityState.HANDOFF_PENDING:
                name = "to_pending" if has_owner else "to_waiting"
            case _:
                name = "to_human" if has_owner else "to_device"
        reason = word_of(REASONS, item.reason, self.times.language)
        return self._entry(
            f"authority-{item.id}",
            item.at,
            shape="line",
            who="authority",
            text=self.texts[name].format(owner=owner),
            detail=" · ".join(filter(None, (reason, item.note or ""))),
            tone="strong",
        )

    def _triage(self, item: TriageItem) -> Entry:
        name = f"triage_{item.decision or item.state}"
        reason = word_of(REASONS, item.reason, self.times.language)
        decider = self.texts["by_decider"].format(decider=item.decider) if item.decider else ""
        return self._entry(
            f"triage-{item.id}",
            item.at,
            shape="line",
            who="ai",
            text=self.texts.get(name, name),
            detail=" · ".join(filter(None, (reason, decider))),
        )

    def _entry(
        self,
        name: str,
        at: datetime,
        *,
        shape: str,
        who: str,
        author: str = "",
        text: str = "",
        state: str = "",
        detail: str = "",
        fault: str = "",
        tone: str = "quiet",
        outbound_id: UUID | None = None,
        actions: tuple[str, ...] = (),
        facts: tuple[tuple[str, str], ...] = (),
        file: Attachment | None = None,
        said: Said | None = None,
    ) -> Entry:
        return Entry(
            id=name,
            shape=shape,
            at=at,
            time=self.times.clock(at),
            full_time=self.times.full(at),
            who=who,
            author=author,
            text=text,
            state=state,
            detail=detail,
            fault=fault,
            tone=tone,
            outbound_id=outbound_id,
            actions=actions,
            facts=facts,
            file=file,
            said=said,
        )


def describe_value(value: object) -> str:
    """A tool's arguments or result in one short line: what a person would say of it, not its syntax."""
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value)
        text = ", ".join(f"{name}: {_plain(item)}" for name, item in pairs.items())
    else:
        text = _plain(value)
    return text if len(text) <= _VALUE_CHARS_MAX else f"{text[: _VALUE_CHARS_MAX - 1]}…"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
