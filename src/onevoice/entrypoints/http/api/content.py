"""What a message has besides text: as it is asked for, and as it is shown. Limits are the channel's to check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from onevoice.flow.media.decide import media_path
from onevoice.vocabulary import (
    Button,
    MediaId,
    MediaKind,
    MediaState,
    Menu,
    MenuRow,
    MenuSection,
    OutgoingMedia,
    Reaction,
    Template,
)

Label = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00]*$")]
CHOICES_MAX = 30


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class ButtonContent(_Content):
    """An answer to tap."""

    id: Label
    title: Label


class MenuRowContent(_Content):
    """An entry of a menu."""

    id: Label
    title: Label
    description: Label | None = None


class MenuSectionContent(_Content):
    """Entries under one heading."""

    title: Label | None = None
    rows: list[MenuRowContent] = Field(min_length=1, max_length=CHOICES_MAX)


class MenuContent(_Content):
    """A list to choose from, opened by `button`."""

    button: Label
    sections: list[MenuSectionContent] = Field(min_length=1, max_length=CHOICES_MAX)

    def as_menu(self) -> Menu:
        sections = [
            MenuSection(title=section.title, rows=tuple(MenuRow(**row.model_dump()) for row in section.rows))
            for section in self.sections
        ]
        return Menu(button=self.button, sections=tuple(sections))


class TemplateContent(_Content):
    """A message that the channel approved beforehand; it passes a closed reply window."""

    name: Label
    language: Label
    components: list[dict[str, JsonValue]] = Field(
        default_factory=list, max_length=20, description="The channel's own JSON for the parameters."
    )

    def as_template(self) -> Template:
        return Template(name=self.name, language=self.language, components=tuple(self.components))


class ReactionContent(_Content):
    """An emoji on a customer's message."""

    message: Label = Field(description="The message, by `id` or `external_id`.")
    emoji: Annotated[str, StringConstraints(max_length=32, pattern=r"^[^\x00]*$")] = Field(
        description="Empty: the reaction is taken back."
    )

    def as_reaction(self) -> Reaction:
        return Reaction(message=self.message, emoji=self.emoji)


class MediaContent(_Content):
    """A file that was handed in with POST /media, or came with a message."""

    id: UUID
    kind: MediaKind | None = Field(
        default=None, description="What it is sent as; what its bytes say when left out."
    )
    filename: Label | None = Field(default=None, description="The name the customer sees.")

    def as_media(self) -> OutgoingMedia:
        return OutgoingMedia(id=MediaId(self.id), kind=self.kind, filename=self.filename)


def as_buttons(buttons: list[ButtonContent]) -> tuple[Button, ...]:
    return tuple(Button(id=button.id, title=button.title) for button in buttons)


class MediaFile(BaseModel):
    """A file; `url` serves it to whoever has a token."""

    id: UUID
    kind: MediaKind
    mime_type: str | None
    filename: str | None
    size_bytes: int | None
    url: str


def media_file(fields: Mapping[str, Any] | None) -> MediaFile | None:
    """The file of a row that has one."""
    if fields is None:
        return None
    url = media_path(MediaId(UUID(str(fields["id"]))))
    names = ("id", "kind", "mime_type", "filename", "size_bytes")
    return MediaFile(url=url, **{name: fields[name] for name in names})


class InboundMedia(BaseModel):
    """A file that came with a message. `url` serves it to whoever has a token, once `state` is `stored`."""

    id: UUID
    kind: MediaKind
    state: MediaState
    reason: str | None = Field(description="Why it has failed, or why its latest download did not succeed.")
    mime_type: str | None = Field(description="What its bytes say.")
    filename: str | None
    size_bytes: int | None
    seconds: float | None = Field(description="How long an audio plays, where its container tells.")
    url: str | None


def inbound_content(media: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields in which a customer's message shows its file and what became of an audio's words."""
    if media is None:
        return {"media": None, "transcription_state": None, "transcription_reason": None}
    names = ("kind", "state", "reason", "mime_type", "filename", "size_bytes", "seconds")
    id_ = MediaId(UUID(media["id"]))
    url = media_path(id_) if media["state"] == MediaState.STORED else None
    return {
        "media": InboundMedia(id=id_, url=url, **{name: media[name] for name in names}),
        "transcription_state": media["transcription_state"],
        "transcription_reason": media["transcription_reason"],
    }


def outbound_content(payload: Mapping[str, Any], media: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields in which an outbound message shows what it has besides text."""
    type_ = payload.get("type", "text")
    rest = {name: value for name, value in payload.items() if name != "type"}
    file = media_file(media)
    if file is not None and "filename" in payload:
        file = file.model_copy(update={"filename": payload["filename"]})
    return {
        "type": type_,
        "media": file,
        "buttons": rest.get("buttons"),
        **{name: rest if type_ == name else None for name in ("menu", "template", "reaction")},
    }
