"""Whether a conversation whose timer fired gets a turn, and what a lost turn leads to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from onevoice.flow.conversation.decide import Conversation, ConversationKey
from onevoice.vocabulary import AuthorityState, ChannelName, MessageId, TurnId, TurnState, WhileRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMessage:
    """An open inbound message of a conversation whose timer fired; ``replied_at`` is that of its latest reply."""

    id: MessageId
    received_at: datetime
    external_id: str = ""
    replied_at: datetime | None = None
    window_rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A claimed turn, as its worker carries it.

    ``waited_seconds``: how long its first message had waited then. ``newest_external_id``: the channel's id of its last
    message, to be marked as read.
    """

    id: TurnId
    conversation: ConversationKey
    channel: ChannelName
    attempt: int
    authority_version: int
    arrivals_seen: int
    open_since: datetime
    waited_seconds: float
    window_rules: tuple[str, ...]
    message_ids: tuple[MessageId, ...]
    newest_external_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """A turn's row under the conversation's lock."""

    id: TurnId
    state: TurnState
    reason: str | None
    attempt: int
    authority_version: int
    while_running: WhileRunning
    arrivals_seen: int
    open_since: datetime
    message_ids: tuple[MessageId, ...]


def choose_turn(
    conversation: Conversation, messages: Sequence[OpenMessage], *, new_id: TurnId
) -> Turn | None:
    """Claim exactly the messages read, or nothing.

    The timer already says that a turn is allowed; authority and the running turn are looked at
    again all the same, because only the locked row is the truth.
    """
    if conversation.authority_state is not AuthorityState.AI_ACTIVE:
        return None
    if conversation.running_turn_id is not None or not messages:
        return None
    open_since = min(message.received_at for message in messages)
    return Turn(
        id=new_id,
        conversation=conversation.key,
        channel=conversation.channel,
        attempt=conversation.lost_turn_count + conversation.agent_failure_count + 1,
        authority_version=conversation.authority_version,
        arrivals_seen=conversation.arrival_count,
        open_since=open_since,
        waited_seconds=(conversation.now - open_since).total_seconds(),
        window_rules=tuple(message.window_rule for message in messages if message.window_rule is not None),
        message_ids=tuple(message.id for message in messages),
        newest_external_id=messages[-1].external_id,
    )


def is_overtaken(
    conversation: Conversation, turn: TurnFacts, *, wrote: bool, max_wait_seconds: float
) -> bool:
    """A newer message discards the turn, unless it wrote or the customer has waited long enough (I6).

    The gate asks this of the finished reply, and a write tool before it begins.
    """
    if conversation.arrival_count <= turn.arrivals_seen:
        return False
    if conversation.now >= turn.open_since + timedelta(seconds=max_wait_seconds):
        return False
    match turn.while_running:
        case WhileRunning.DISCARD:
            return True
        case WhileRunning.DISCARD_UNLESS_WROTE:
            return not wrote
        case WhileRunning.ENQUEUE | WhileRunning.TRIAGE:
            return False


def is_given_up(lost_turn_count: int, *, attempts_max: int) -> bool:
    """After so many turns lost with their worker a human must look: the burst itself may be what kills them."""
    return lost_turn_count >= attempts_max


def is_looping(conversation: Conversation, *, turns_max: int) -> bool:
    """So many turns within one minute are no human's: two bots answer each other."""
    started_at = conversation.loop_started_at
    if started_at is None or conversation.loop_turn_count < turns_max:
        return False
    return timedelta(0) <= conversation.now - started_at < timedelta(minutes=1)


def is_split(messages: Sequence[OpenMessage], *, debounce_seconds: float) -> bool:
    """A burst that begins within twice the window after an answer: the answer came into the middle of a thought."""
    first = min(messages, key=lambda message: message.received_at)
    if first.replied_at is None or first.received_at < first.replied_at:
        return False
    return (first.received_at - first.replied_at).total_seconds() <= 2 * debounce_seconds


def measure_gaps(messages: Sequence[OpenMessage]) -> list[float]:
    """Seconds between neighbouring messages of one burst, for the window's metric."""
    times = sorted(message.received_at for message in messages)
    return [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
