"""The shapes of the API's answers, as the OpenAPI document shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel

from onevoice.entrypoints.http.api.content import (
    ButtonContent,
    InboundMedia,
    MediaFile,
    MenuContent,
    ReactionContent,
    TemplateContent,
)
from onevoice.entrypoints.operators.principal import Role
from onevoice.vocabulary import (
    Author,
    AuthorityState,
    InboundState,
    OutboundState,
    TranscriptionState,
    TurnState,
)

Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` for the next page; null on the last one."
    )


class Contact(BaseModel):
    """The customer as the channel knows them; `id` is the channel's own address."""

    id: str
    name: str | None


class Owner(BaseModel):
    """The operator who holds a conversation."""

    id: UUID
    name: str | None


def named(operator_id: UUID | None, name: str | None) -> Owner | None:
    """Nobody has no name; somebody whose row is gone has an id alone."""
    return None if operator_id is None else Owner(id=operator_id, name=name)


class Authority(BaseModel):
    """Who may speak in a conversation. `version` moves with every transition."""

    state: AuthorityState
    version: int
    owner: Owner | None
    reason: str | None
    note: str | None
    since: datetime


class Conversation(BaseModel):
    """One contact on one channel."""

    id: UUID
    channel: str
    contact: Contact
    authority: Authority
    unanswered_count: int = Field(description="The customer's messages that nobody has answered yet.")
    oldest_unanswered_at: datetime | None
    last_activity_at: datetime


class InboundItem(BaseModel):
    """A message of the customer. `turn` is the turn that read it last."""

    kind: Literal["inbound"]
    id: UUID
    at: datetime
    state: InboundState
    reason: str | None
    external_id: str
    type: str
    text: str | None = Field(description="What is not text is described in brackets.")
    transcription: str | None = Field(description="An audio's words.")
    transcription_state: TranscriptionState | None = Field(
        description="What became of an audio's words; null where nobody asked for any."
    )
    transcription_reason: str | None = Field(description="Why there are none yet, or none at all.")
    media: InboundMedia | None
    turn: UUID | None
    sent_at: datetime | None


class ChannelFault(BaseModel):
    """The channel's own code and words."""

    code: str
    detail: str | None


class OutboundFields(BaseModel):
    """What is known of a sealed message wherever it is shown."""

    id: UUID
    at: datetime = Field(description="When it was sealed.")
    state: OutboundState | Literal["held"] = Field(
        description="`held`: sealed, and its hold, part interval, triage or takeover is not over."
    )
    reason: str | None
    author: Author
    type: str = Field(description="`text`, a kind of file, `buttons`, `menu`, `template` or `reaction`.")
    text: str = Field(description="What the customer reads; in brackets what they get besides text.")
    media: MediaFile | None
    buttons: list[ButtonContent] | None
    menu: MenuContent | None
    template: TemplateContent | None
    reaction: ReactionContent | None
    authority_version: int
    external_id: str | None
    key: str
    turn: UUID | None
    operator: UUID | None
    part: int
    part_count: int
    attempt_count: int
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    fault: ChannelFault | None


class OutboundItem(OutboundFields):
    """A message to the customer, in the timeline."""

    kind: Literal["outbound"]


class OutboundMessage(OutboundFields):
    """A message to the customer, in the list of those that need somebody's attention."""

    conversation: UUID
    channel: str
    contact: Contact


class TurnItem(BaseModel):
    """One run of the agent over the messages it claimed."""

    kind: Literal["turn"]
    id: UUID
    at: datetime
    state: TurnState
    reason: str | None
    attempt: int
    authority_version: int
    messages: list[UUID]
    wrote: bool
    confidence: float | None
    usage: dict[str, Any] | None
    ended_at: datetime | None


class EffectItem(BaseModel):
    """A write tool's call. `told_at` is null until a reply that knew of it was sent."""

    kind: Literal["effect"]
    id: UUID
    at: datetime
    state: str
    reason: str | None
    tool: str
    args: Any
    result: Any
    key: str
    turn: UUID | None
    authority_version: int
    finished_at: datetime | None
    told_at: datetime | None


class AuthorityItem(BaseModel):
    """A transition: who may speak from here on."""

    model_config = ConfigDict(populate_by_name=True)

    kind: Literal["authority"]
    id: str
    at: datetime
    state: str | None
    reason: str | None
    from_state: str | None = Field(alias="from")
    to: str | None
    version: int | None
    owner: Owner | None
    note: str | None


class TriageItem(BaseModel):
    """What became of a reply that a newer message overtook; `covers` counts the arrivals it read."""

    kind: Literal["triage"]
    id: str
    at: datetime
    state: str | None
    reason: str | None
    decision: str | None
    decider: str | None
    covers: int | None


TimelineItem = Annotated[
    InboundItem | OutboundItem | TurnItem | EffectItem | AuthorityItem | TriageItem,
    Field(discriminator="kind"),
]


class ConversationPage(Page[Conversation]):
    """Conversations, newest activity first."""


class TimelinePage(Page[TimelineItem]):
    """What happened, oldest first."""


class OutboundPage(Page[OutboundMessage]):
    """Messages that need attention, newest first."""


class AuthorityAnswer(BaseModel):
    """The authority after a command. While a takeover waits, `unresolved_count` says for how many AI messages."""

    authority: Authority
    unresolved_count: int = Field(description="AI messages on the wire or of unknown outcome.")


class OutboundAnswer(BaseModel):
    """The message after a command."""

    outbound: OutboundMessage


class MessageAnswer(BaseModel):
    """An operator's message; a long text has several parts, `outbound` is the first."""

    id: UUID = Field(description="The first part's id.")
    outbound: OutboundMessage
    parts: list[UUID]


class Note(BaseModel):
    """An internal note."""

    id: UUID
    at: datetime
    text: str
    operator: Owner | None


class NoteAnswer(BaseModel):
    """The note that was kept."""

    note: Note


class NotePage(Page[Note]):
    """Notes, newest first."""


class Suggestion(BaseModel):
    """What the agent would say now; `turn` is the run that proposed it."""

    id: UUID
    at: datetime
    text: str
    reason: str | None
    turn: UUID | None


class SuggestionPage(Page[Suggestion]):
    """The suggestions that still hold, newest first."""


class FollowUp(BaseModel):
    """A message for later; a newer message of the customer or a change of authority cancels it."""

    id: UUID
    at: datetime
    text: str
    not_before: datetime
    state: Literal["scheduled", "sealed", "cancelled"]
    reason: str | None
    operator: Owner | None


class FollowUpAnswer(BaseModel):
    """The follow-up that was scheduled."""

    follow_up: FollowUp


class Pause(BaseModel):
    """Automation on the whole number was stopped; operators may still write."""

    reason: str
    since: datetime


class Channel(BaseModel):
    """A channel of the account."""

    name: str
    kind: str
    paused: Pause | None
    slow_until: datetime | None


class ChannelAnswer(BaseModel):
    """The channel after a command."""

    channel: Channel


class ChannelPage(Page[Channel]):
    """Channels by name."""


class OperatorEntry(BaseModel):
    """Somebody who may be given a conversation."""

    id: UUID
    name: str
    role: Role


class OperatorPage(Page[OperatorEntry]):
    """Operators by name."""


class Distribution(BaseModel):
    """A histogram in short."""

    count: float
    sum: float


class Series(BaseModel):
    """One labelled series."""

    labels: dict[str, str]
    value: float | Distribution


class Stats(RootModel[dict[str, float | Distribution | list[Series]]]):
    """The metrics of docs/metrics.md by name without prefix."""


class Event(BaseModel):
    """One journal entry, as the `data` of a server-sent event; `subject` is the id of the row it tells of."""

    id: str
    at: datetime
    kind: str = Field(
        description="`inbound`, `media` (a message's file came or failed), `transcription` (so did an audio's words), "
        "`turn`, `effect`, `outbound`, `triage`, `authority`, `suggestion`, `note`, `channel`; more may come. The "
        "subject of `media` and `transcription` is the inbound message."
    )
    conversation: UUID | None
    subject: UUID | None
    state: str | None
    reason: str | None
    data: dict[str, Any]


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether the process can accept and store; `reason` says why not."""

    status: Literal["ready", "not_ready"]
    reason: str | None
