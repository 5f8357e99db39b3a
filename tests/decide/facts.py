"""Facts for decisions: a plain one of each kind, and what a test wants otherwise. Times are seconds after START."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from onevoice.flow.conversation import Conversation, ConversationKey
from onevoice.flow.outbox.decide import Lane, Message
from onevoice.flow.turn.decide import TurnFacts
from onevoice.ports.channel import ChannelError
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import (
    AccountId,
    Author,
    AuthorityState,
    ChannelName,
    ConversationId,
    ErrorAction,
    MessageId,
    OutboundId,
    OutboundState,
    TurnId,
    TurnState,
    WhileRunning,
)

TURN = TurnId(UUID(int=7))
CHANNEL = ChannelName("loja")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def conversation(**facts: Any) -> Conversation:
    """An AI conversation with one message that its running turn has read, at ``START``."""
    plain: dict[str, Any] = {
        "key": ConversationKey(AccountId("default"), ConversationId(UUID(int=1))),
        "now": at(0),
        "channel": CHANNEL,
        "contact_address": "ana",
        "contact_name": None,
        "authority_state": AuthorityState.AI_ACTIVE,
        "authority_version": 1,
        "authority_owner": None,
        "authority_reason": None,
        "authority_note": None,
        "authority_since": at(-3600),
        "arrival_count": 1,
        "arrivals_decided": 0,
        "open_since": None,
        "turn_due_at": None,
        "running_turn_id": None,
        "reply_waiting": False,
        "lost_turn_count": 0,
        "agent_failure_count": 0,
        "agent_failing_since": None,
        "window_expires_at": None,
        "pair_spent_count": 0.0,
        "pair_spent_at": None,
        "pair_slow_count": 0,
        "last_inbound_at": at(0),
        "last_activity_at": at(0),
        "echo_wait_until": None,
        "released_at": None,
        "held_by_hand": False,
        "loop_started_at": None,
        "loop_turn_count": 0,
    }
    return Conversation(**(plain | facts))


def turn(**facts: Any) -> TurnFacts:
    plain: dict[str, Any] = {
        "id": TURN,
        "state": TurnState.RUNNING,
        "reason": None,
        "attempt": 1,
        "authority_version": 1,
        "while_running": WhileRunning.DISCARD_UNLESS_WROTE,
        "arrivals_seen": 1,
        "open_since": at(0),
        "message_ids": (MessageId(UUID(int=11)),),
    }
    return TurnFacts(**(plain | facts))


def message(**facts: Any) -> Message:
    """The first part of an AI reply, due now, that has seen the only arrival."""
    plain: dict[str, Any] = {
        "id": OutboundId(UUID(int=21)),
        "channel": CHANNEL,
        "author": Author.AI,
        "turn_id": TURN,
        "key": "k:1",
        "part": 1,
        "text": "oi",
        "state": OutboundState.DUE,
        "authority_version": 1,
        "arrivals_seen": 1,
        "wrote": False,
        "due_at": at(0),
        "hold_try_count": 0,
        "attempt_count": 0,
        "no_retry": False,
        "external_id": None,
    }
    return Message(**(plain | facts))


def lane(talk: Conversation | None = None, head: Message | None = None, **facts: Any) -> Lane:
    plain: dict[str, Any] = {
        "conversation": talk or conversation(),
        "head": head or message(),
        "channel_known": True,
        "channel_paused": False,
        "channel_slow_until": None,
        "ladder_seconds": (0.3, 0.6, 1.2),
        "pair_burst": None,
        "pair_seconds": 6.0,
    }
    return Lane(**(plain | facts))


def error(action: ErrorAction, **facts: Any) -> ChannelError:
    plain: dict[str, Any] = {"action": action, "code": "1", "detail": "refused"}
    return ChannelError(**(plain | facts))
