"""The shapes of what callers send. Unknown keys are refused: a misspelt `force` must not be a plain take."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from onevoice.entrypoints.http.api.content import (
    CHOICES_MAX,
    ButtonContent,
    MediaContent,
    MenuContent,
    ReactionContent,
    TemplateContent,
    as_buttons,
)
from onevoice.vocabulary import OutgoingMessage

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


def _as_file(given: object) -> object:
    """A bare id is a file with nothing more said of it; a fault in either names the field, not a type."""
    return {"id": given} if isinstance(given, str) else given


File = Annotated[MediaContent, BeforeValidator(_as_file, json_schema_input_type=UUID | MediaContent)]


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
    """An operator's message: its text, a suggestion as it is, or a suggestion with the text it became.

    One content may stand beside the text: a file, whose caption it is then, or buttons or a menu below it. A template
    and a reaction stand alone.
    """

    text: Text | None = None
    media: File | None = Field(default=None, description="A file, by its id or with more.")
    buttons: list[ButtonContent] | None = Field(default=None, min_length=1, max_length=CHOICES_MAX)
    menu: MenuContent | None = None
    template: TemplateContent | None = None
    reaction: ReactionContent | None = None
    suggestion: UUID | None = Field(default=None, description="The suggestion that is used or edited.")
    seen: Line | None = Field(
        default=None,
        description="The last inbound message on the screen, by `id` or `external_id`: what came later stays open. "
        "Without it, everything so far is answered.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.text is None and self.suggestion is None and not self._contents:
            raise PydanticCustomError("nothing", "give text, suggestion or both, or a content such as media")
        return self

    @property
    def _contents(self) -> list[object]:
        given = (self.media, self.buttons, self.menu, self.template, self.reaction)
        return [content for content in given if content is not None]

    def as_message(self) -> OutgoingMessage | None:
        """The message that was written; ``None`` leaves it to the suggestion."""
        if self.text is None and not self._contents:
            return None
        return OutgoingMessage(
            text=self.text or "",
            media=self.media.as_media() if self.media else None,
            buttons=as_buttons(self.buttons or []),
            menu=self.menu.as_menu() if self.menu else None,
            template=self.template.as_template() if self.template else None,
            reaction=self.reaction.as_reaction() if self.reaction else None,
        )


class FollowUpBody(Body):
    """A message for later."""

    text: Text
    not_before: AwareDatetime = Field(description="The earliest time it may leave, with its offset from UTC.")
