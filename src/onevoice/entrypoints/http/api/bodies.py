"""The shapes of what callers send. Unknown keys are refused: a misspelt `force` must not be a plain take."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

TEXT_CHARS_MAX = 20_000


def _check_storable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul", "it holds a NUL character, which cannot be kept")
    return text


def _check_words(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "it has no words")
    return _check_storable(text)


Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300),
    AfterValidator(_check_storable),
]
Text = Annotated[str, StringConstraints(max_length=TEXT_CHARS_MAX), AfterValidator(_check_words)]
ShortText = Annotated[str, StringConstraints(max_length=2_000), AfterValidator(_check_storable)]


class Body(BaseModel):
    """Every body."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class TakeBody(Body):
    """How to take a conversation."""

    force: bool = Field(
        default=False,
        description="Take it from whoever holds it (admins only), or confirm one's own pending takeover at once.",
    )
    hold: bool = Field(default=False, description="No idle time returns it to the AI.")


class TransferBody(Body):
    """To whom a conversation goes."""

    to: UUID = Field(description="An operator's id; GET /operators lists them.")


class ReasonBody(Body):
    """Why, as a code, and a note for whoever reads it."""

    reason: Line | None = Field(default=None, description="A short code; `manual` when left out.")
    note: ShortText | None = None


class NoteBody(Body):
    """A note that neither the customer nor the agent sees."""

    text: Text


class MessageBody(Body):
    """An operator's message: its text, a suggestion as it is, or a suggestion with the text it became."""

    text: Text | None = None
    suggestion: UUID | None = Field(default=None, description="The suggestion that is used or edited.")
    seen: Line | None = Field(
        default=None,
        description="The last inbound message on the screen, by `id` or `external_id`: what came later stays open. "
        "Without it, everything so far is answered.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.text is None and self.suggestion is None:
            raise PydanticCustomError("nothing", "give text, suggestion or both")
        return self


class FollowUpBody(Body):
    """A message for later."""

    text: Text
    not_before: AwareDatetime = Field(description="The earliest time it may leave, with its offset from UTC.")
