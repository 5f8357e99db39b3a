"""``onevoice.handoff``: the tool with which a model, in any framework, asks for a human.

The adapters offer it to the model by themselves, where the library allows it. Importing this module starts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from onevoice.errors import HandoffOutsideTurn
from onevoice.vocabulary import HandoffRequest

__all__ = ["CaughtHandoff", "catch_handoff", "handoff"]

UNNAMED_REASON = "agent_request"
NOTE_CHARS_MAX = 4_000
ANSWER = (
    "A human colleague has been asked to take over. Tell the customer so in one short sentence, and no more."
)


@dataclass(slots=True)
class CaughtHandoff:
    """Where one agent call's handoff is kept; the first one counts."""

    request: HandoffRequest | None = None


_CURRENT: ContextVar[CaughtHandoff | None] = ContextVar("onevoice_handoff", default=None)


async def handoff(reason: str, note: str = "", summary: str = "") -> str:
    """Hand this conversation over to a human colleague.

    Use it when the customer asks for a person, or when you cannot or must not help.

    Args:
        reason: Why, as one or two words in snake_case, such as customer_request.
        note: What the colleague should know or do.
        summary: The conversation so far, in one or two sentences.
    """
    caught = _CURRENT.get()
    if caught is None:
        raise HandoffOutsideTurn
    if caught.request is None:
        caught.request = _request(reason, note, summary)
    return ANSWER


@contextmanager
def catch_handoff() -> Generator[CaughtHandoff]:
    """Inside the block, and in everything it calls, ``handoff`` is kept in what is yielded."""
    caught = CaughtHandoff()
    token = _CURRENT.set(caught)
    try:
        yield caught
    finally:
        _CURRENT.reset(token)


def _request(reason: str, note: str, summary: str) -> HandoffRequest:
    """An unusable reason does not undo the wish for a human: the model's words move into the note."""
    code = re.sub(r"[^a-z]+", "_", reason.strip().lower()).strip("_")
    if not code or len(code) > 64:
        note = "\n".join(part for part in (reason, note) if part)
        code = UNNAMED_REASON
    return HandoffRequest(reason=code, note=_kept(note), summary=_kept(summary))


def _kept(text: str) -> str | None:
    """A text as the database can hold it: no NUL, no half of a surrogate pair; nothing where nothing was said."""
    cleaned = text.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    return cleaned[:NOTE_CHARS_MAX] or None
