"""An entry of an HTTP agent's ``messages``: a text, a file, choices, a template or a reaction. Pure."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

from onevoice.adapters.agents.answer_fields import (
    JsonObject,
    as_object,
    bad_answer,
    list_at,
    required_text_at,
    text_at,
)
from onevoice.vocabulary import (
    Button,
    MediaId,
    MediaKind,
    Menu,
    MenuRow,
    MenuSection,
    OutgoingMedia,
    OutgoingMessage,
    Reaction,
    Template,
)

CHOICES_MAX = 30
COMPONENTS_MAX = 20
KINDS = {kind.value: kind for kind in MediaKind if kind is not MediaKind.STICKER}
# What an entry may call itself beside a kind of file: what it is shows in its keys.
PLAIN_TYPES = (None, "text", "buttons", "menu", "template", "reaction")


def decode_message(entry: object) -> OutgoingMessage:
    """One message; raises ``AgentError`` for what the protocol does not know."""
    fields = as_object(entry, "an entry of messages")
    return OutgoingMessage(
        text=text_at(fields, "text") or "",
        media=_media(fields),
        buttons=tuple(_button(button) for button in list_at(fields, "buttons", items_max=CHOICES_MAX)),
        menu=_menu(fields),
        template=_template(fields),
        reaction=_reaction(fields),
    )


def _media(fields: JsonObject) -> OutgoingMedia | None:
    type_ = text_at(fields, "type")
    if type_ not in KINDS and type_ not in PLAIN_TYPES:
        raise bad_answer(f"the type of a message is none of {', '.join([*KINDS, 'text'])}")
    named, data = text_at(fields, "media"), fields.get("data")
    if named is None and data is None:
        if type_ in KINDS:
            raise bad_answer(f"a message of type {type_} has neither media nor data")
        return None
    return OutgoingMedia(
        id=None if named is None else _identity(named),
        content=None if data is None else _bytes(data),
        kind=KINDS.get(type_ or ""),
        filename=text_at(fields, "filename"),
        mime_type=text_at(fields, "mime_type"),
    )


def _identity(named: str) -> MediaId:
    try:
        return MediaId(UUID(named))
    except ValueError:
        raise bad_answer("media is no id of a file") from None


def _bytes(data: object) -> bytes:
    if not isinstance(data, str):
        raise bad_answer("data is no text in base64")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise bad_answer("data is not base64") from None


def _button(value: object) -> Button:
    button = as_object(value, "an entry of buttons")
    return Button(
        id=required_text_at(button, "id", "a button"), title=required_text_at(button, "title", "a button")
    )


def _menu(fields: JsonObject) -> Menu | None:
    if fields.get("menu") is None:
        return None
    menu = as_object(fields["menu"], "menu")
    sections = [
        as_object(section, "a section") for section in list_at(menu, "sections", items_max=CHOICES_MAX)
    ]
    return Menu(
        button=required_text_at(menu, "button", "the menu"),
        sections=tuple(
            MenuSection(
                title=text_at(section, "title"),
                rows=tuple(_row(row) for row in list_at(section, "rows", items_max=CHOICES_MAX)),
            )
            for section in sections
        ),
    )


def _row(value: object) -> MenuRow:
    row = as_object(value, "a row")
    return MenuRow(
        id=required_text_at(row, "id", "a row"),
        title=required_text_at(row, "title", "a row"),
        description=text_at(row, "description"),
    )


def _template(fields: JsonObject) -> Template | None:
    if fields.get("template") is None:
        return None
    template = as_object(fields["template"], "template")
    components = list_at(template, "components", items_max=COMPONENTS_MAX)
    return Template(
        name=required_text_at(template, "name", "the template"),
        language=required_text_at(template, "language", "the template"),
        components=tuple(as_object(component, "a component") for component in components),
    )


def _reaction(fields: JsonObject) -> Reaction | None:
    if fields.get("reaction") is None:
        return None
    reaction = as_object(fields["reaction"], "reaction")
    return Reaction(
        message=required_text_at(reaction, "message", "the reaction"),
        emoji=text_at(reaction, "emoji") or "",
    )
