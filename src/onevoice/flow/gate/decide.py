"""The verdict over a proposal: the order of checks of architecture section 8, first match decides. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from onevoice.flow.conversation.decide import Conversation
from onevoice.flow.gate.policy import PolicyHit
from onevoice.flow.turn.decide import TurnFacts, is_overtaken
from onevoice.vocabulary import HandoffRequest, Proposal, TurnState, WhileRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The agent gave no proposal. ``retry`` says whether trying again can help."""

    reason: str
    retry: bool
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutShort:
    """The call was ended early: a newer message had already decided that its answer would be discarded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The settings the gate compares with. Seconds throughout."""

    max_wait_seconds: float
    retry_for_seconds: float
    min_confidence: float
    carries_out_promises: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the verdict depends on, read under the conversation's lock.

    ``wrote``: it tells of a write, or the conversation has effects the customer does not know of. ``refused_write``: a
    write of this turn was refused, so that its words are not believed. ``unknown_write``: a write of it has begun, may
    not be repeated, and its outcome is not known; asks for a human if the turn dies.
    """

    conversation: Conversation
    turn: TurnFacts
    answer: Proposal | Failure | CutShort
    limits: Limits
    wrote: bool
    policy: PolicyHit | None = None
    promises_human: bool = False
    refused_write: str | None = None
    unknown_write: HandoffRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a turn.

    ``seals`` makes the proposal's messages durable replies that have seen ``arrivals_seen``; ``parks`` seals them
    where they cannot leave. ``answers`` closes the burst, else its messages are free again.
    ``suspends``: automation is blocked instead of handed over. ``suggests``: the text is kept for the operator.
    ``is_late`` marks a turn that had ended before: nothing is written. ``wrote``: its reply tells of a write.
    """

    state: TurnState
    reason: str
    seals: bool = False
    parks: bool = False
    answers: bool = False
    arrivals_seen: int = 0
    handoff: HandoffRequest | None = None
    suspends: bool = False
    suggests: bool = False
    retry_in_seconds: float | None = None
    is_late: bool = False
    wrote: bool = False


def judge(facts: Facts) -> Verdict:
    """Decide over a proposal: authority first, then newer messages, then what the agent asked for."""
    return replace(_judge(facts), wrote=facts.wrote)


def _judge(facts: Facts) -> Verdict:
    turn, conversation = facts.turn, facts.conversation
    if turn.state is not TurnState.RUNNING:
        return Verdict(state=turn.state, reason=turn.reason or "lease_lost", is_late=True)
    if turn.authority_version != conversation.authority_version:
        return Verdict(state=TurnState.OBSOLETE, reason="authority_revoked")
    refused = _judge_refused_write(facts)
    if refused is not None:
        return refused
    if isinstance(facts.answer, CutShort):
        return Verdict(state=TurnState.DISCARDED, reason="newer_message", handoff=facts.unknown_write)
    if isinstance(facts.answer, Failure):
        return _judge_failure(facts, facts.answer)
    max_wait_seconds = facts.limits.max_wait_seconds
    if is_overtaken(conversation, turn, wrote=facts.wrote, max_wait_seconds=max_wait_seconds):
        return Verdict(state=TurnState.DISCARDED, reason="newer_message")
    handoff = _choose_handoff(facts, facts.answer)
    if handoff is not None:
        return handoff
    return _judge_messages(facts, facts.answer)


def _judge_messages(facts: Facts, proposal: Proposal) -> Verdict:
    if not proposal.messages:
        reason = proposal.silence_reason or "no_reply"
        return Verdict(state=TurnState.SILENT, reason=reason, answers=True)
    if _is_window_closed(facts.conversation):
        return Verdict(
            state=TurnState.PARKED,
            reason="needs_template",
            seals=True,
            parks=True,
            answers=True,
            arrivals_seen=_arrivals_seen(facts),
        )
    return Verdict(
        state=TurnState.SEALED,
        reason="answered",
        seals=True,
        answers=True,
        arrivals_seen=_arrivals_seen(facts),
    )


def _judge_refused_write(facts: Facts) -> Verdict | None:
    """The refusal's reason is the turn's end, whatever its agent answered; where no new turn helps, a human must."""
    match facts.refused_write:
        case "newer_message":
            return Verdict(state=TurnState.DISCARDED, reason="newer_message")
        case "outcome_unknown":
            note = "the agent wanted to repeat a write whose outcome was lost; check whether it happened"
            return _handoff(facts, HandoffRequest(reason="effect_outcome_unknown", note=note), seals=False)
        case "refused_by_operator" | "approval_timeout":
            note = f"a write needed an operator's approval: {facts.refused_write}"
            return _handoff(facts, HandoffRequest(reason="write_not_approved", note=note), seals=False)
        case _:
            return None


def _arrivals_seen(facts: Facts) -> int:
    """What the reply counts as having seen: under ``triage`` only what its turn read, so that triage decides."""
    if facts.turn.while_running is WhileRunning.TRIAGE:
        return facts.turn.arrivals_seen
    return facts.conversation.arrival_count


def _choose_handoff(facts: Facts, proposal: Proposal) -> Verdict | None:
    says_something = bool(proposal.messages)
    if proposal.handoff is not None:
        return _handoff(facts, proposal.handoff, seals=says_something)
    # What tells of a write goes out first; any other text is only a suggestion to the operator.
    seals = facts.wrote and says_something
    if facts.policy is not None:
        request = HandoffRequest(reason=facts.policy.reason, note=facts.policy.note)
        return _handoff(
            facts, request, seals=seals, suggests=says_something and not seals, suspends=facts.policy.suspends
        )
    if _is_unsure(facts, proposal):
        request = HandoffRequest(reason="low_confidence")
        return _handoff(facts, request, seals=seals, suggests=says_something and not seals)
    if facts.promises_human and facts.limits.carries_out_promises:
        return _handoff(facts, HandoffRequest(reason="promised_handoff"), seals=says_something)
    return None


def _handoff(
    facts: Facts,
    request: HandoffRequest,
    *,
    seals: bool,
    suggests: bool = False,
    suspends: bool = False,
) -> Verdict:
    return Verdict(
        state=TurnState.HANDOFF,
        reason=request.reason,
        seals=seals,
        parks=seals and _is_window_closed(facts.conversation),
        arrivals_seen=facts.conversation.arrival_count,
        handoff=request,
        suspends=suspends,
        suggests=suggests,
    )


def _is_unsure(facts: Facts, proposal: Proposal) -> bool:
    confidence = proposal.confidence
    return confidence is not None and confidence < facts.limits.min_confidence


def _is_window_closed(conversation: Conversation) -> bool:
    expires = conversation.window_expires_at
    return expires is not None and expires <= conversation.now


def _judge_failure(facts: Facts, failure: Failure) -> Verdict:
    """Again after about 1 s, doubling, at most 30 s apart; no longer than ``retry_for``, then a human looks."""
    conversation = facts.conversation
    if facts.unknown_write is not None:
        return Verdict(state=TurnState.FAILED, reason=failure.reason, handoff=facts.unknown_write)
    wait = min(30.0, float(2 ** min(conversation.agent_failure_count, 10)))
    if failure.retry_after_seconds is not None:
        wait = max(wait, failure.retry_after_seconds)
    failing_since = conversation.agent_failing_since or conversation.now
    gives_up_at = failing_since + timedelta(seconds=facts.limits.retry_for_seconds)
    if not failure.retry or conversation.now + timedelta(seconds=wait) > gives_up_at:
        handoff = HandoffRequest(reason="integration_failure", note=f"the agent failed: {failure.reason}")
        return Verdict(state=TurnState.FAILED, reason=failure.reason, handoff=handoff)
    return Verdict(state=TurnState.FAILED, reason=failure.reason, retry_in_seconds=wait)
