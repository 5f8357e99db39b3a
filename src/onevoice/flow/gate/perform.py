"""Settle turns in batches: the verdict and its consequence in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onevoice.errors import DataRefused, MessageUnsendable
from onevoice.flow.attachment.decide import Prepared, compose_leniently
from onevoice.flow.authority.decide import Command
from onevoice.flow.authority.perform import request_transition
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.effect.untold import TurnWrites, read_turn_writes, unknown_outcome
from onevoice.flow.gate.decide import CutShort, Facts, Failure, Limits, Verdict, judge
from onevoice.flow.gate.notice import seal_notice
from onevoice.flow.gate.policy import match_policies, promises_human
from onevoice.flow.proposal.perform import Answered
from onevoice.flow.runtime import Runtime
from onevoice.flow.suggestion.perform import keep_suggestion
from onevoice.flow.turn.decide import Turn, TurnFacts
from onevoice.flow.turn.end import TurnEnd, end_turns, read_turns
from onevoice.ports.channel import Part
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import Author, Proposal, TurnId, TurnState

LOG = logging.getLogger("onevoice.gate")
SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """A turn with what its agent said. ``parts`` are the proposal's messages as its channel can carry them;
    ``texts`` what the customer said, for the policies."""

    turn: Turn
    answer: Proposal | Failure | CutShort
    parts: tuple[Part, ...] = ()
    texts: tuple[str, ...] = ()


def prepare(runtime: Runtime, turn: Turn, answered: Answered) -> Settlement:
    """Compose the messages before any lock is taken; a removed channel's text stays whole and parks later.

    What the channel cannot carry in any form is a failure of the agent.
    """
    parts: list[Part] = []
    answer = answered.answer
    if isinstance(answer, Proposal):
        prepared = answered.prepared or tuple(Prepared(message=message) for message in answer.messages)
        answer = _without_blanks(answer)
        channel = runtime.channels.get(turn.channel)
        try:
            for each in prepared:
                if channel is not None:
                    parts.extend(compose_leniently(channel.compose, each))
                elif not each.message.is_blank:
                    parts.append(Part(text=each.message.words))
        except MessageUnsendable as error:
            LOG.warning(
                "an agent's message cannot be sent", extra={"turn_id": str(turn.id), "reason": error.code}
            )
            answer, parts = Failure(reason="answer_unsendable", retry=True), []
    return Settlement(turn=turn, answer=answer, parts=tuple(parts), texts=answered.texts)


async def settle(runtime: Runtime, settlements: Sequence[Settlement]) -> list[Verdict]:
    """Decide over finished turns. A turn that had ended before gets its recorded end and changes nothing.

    An answer that the database cannot hold is a failure of its agent: the turn still ends.
    """
    try:
        return await _settle(runtime, settlements)
    except DataRefused:
        if len(settlements) > 1 or isinstance(settlements[0].answer, Failure):
            raise
        refused = Failure(reason="answer_refused", retry=True)
        return await _settle(runtime, [replace(settlements[0], answer=refused, parts=())])


async def _settle(runtime: Runtime, settlements: Sequence[Settlement]) -> list[Verdict]:
    now = runtime.clock.now()
    verdicts: dict[TurnId, Verdict] = {}
    async with runtime.database.transaction("settle_turns") as transaction:
        keys = [settlement.turn.conversation for settlement in settlements]
        locked = await lock(transaction, keys, now=now)
        turns = await read_turns(
            runtime, transaction, [(settled.turn.conversation, settled.turn.id) for settled in settlements]
        )
        writes = await read_turn_writes(transaction, [(s.turn.conversation, s.turn.id) for s in settlements])
        for settlement in settlements:
            turn = settlement.turn
            facts = _facts(
                runtime, settlement, locked[turn.conversation], turns[turn.id], writes=writes[turn.id]
            )
            verdicts[turn.id] = judge(facts)
        standing = [settled for settled in settlements if not verdicts[settled.turn.id].is_late]
        if standing:
            await _save(runtime, transaction, standing, verdicts, locked)
            nudges = await refresh(runtime, transaction, [settled.turn.conversation for settled in standing])
        else:
            nudges = None
    if nudges is not None:
        nudges.send(runtime)
    for settlement in settlements:
        _measure(runtime, verdicts[settlement.turn.id])
    return [verdicts[settlement.turn.id] for settlement in settlements]


def _flag_promises(settlements: Sequence[Settlement], verdicts: Mapping[TurnId, Verdict]) -> list[Entry]:
    """A reply that promises a human while none is asked for is flagged: the customer will wait for one."""
    return [
        Entry(
            kind="turn",
            conversation=settled.turn.conversation,
            subject=settled.turn.id,
            state="promised_handoff",
            reason="no_handoff_asked",
        )
        for settled in settlements
        if verdicts[settled.turn.id].state is TurnState.SEALED and promises_human(_texts(settled))
    ]


async def _save(
    runtime: Runtime,
    transaction: Transaction,
    settlements: Sequence[Settlement],
    verdicts: Mapping[TurnId, Verdict],
    locked: Mapping[ConversationKey, Conversation],
) -> None:
    answered = [settled for settled in settlements if verdicts[settled.turn.id].answers]
    if answered:
        await transaction.execute(
            SQL["answer_messages"],
            [settled.turn.conversation.account for settled in answered],
            [settled.turn.id for settled in answered],
            [verdicts[settled.turn.id].state.value for settled in answered],
        )
    await end_turns(
        runtime, transaction, [_end(settled, verdicts[settled.turn.id]) for settled in settlements]
    )
    versions: dict[TurnId, int] = {}
    for settled in settlements:
        verdict = verdicts[settled.turn.id]
        conversation = locked[settled.turn.conversation]
        versions[settled.turn.id] = conversation.authority_version
        if verdict.handoff is not None:
            versions[settled.turn.id] += 1
            await request_transition(
                runtime,
                transaction,
                _without_turn(conversation),
                Command.SUSPEND if verdict.suspends else Command.REQUEST_HANDOFF,
                is_admin=True,
                reason=verdict.handoff.reason,
                note=_note(verdict),
            )
            await _keep_words(runtime, transaction, conversation, settled, verdict)
    await _seal(
        runtime, transaction, [s for s in settlements if verdicts[s.turn.id].seals], verdicts, versions
    )
    await record(transaction, _flag_promises(settlements, verdicts), now=runtime.clock.now())
    await transaction.execute(
        SQL["note_agent_outcome"],
        runtime.clock.now(),
        [settled.turn.conversation.account for settled in settlements],
        [settled.turn.conversation.id for settled in settlements],
        [verdicts[settled.turn.id].state is TurnState.FAILED for settled in settlements],
        [verdicts[settled.turn.id].retry_in_seconds for settled in settlements],
    )


async def _keep_words(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    settled: Settlement,
    verdict: Verdict,
) -> None:
    """Words that were not sealed wait for the operator; a failure may leave one sentence for the customer."""
    version = conversation.authority_version + 1
    if verdict.suggests:
        await keep_suggestion(
            runtime,
            transaction,
            conversation,
            text="\n\n".join(_texts(settled)),
            reason=verdict.reason,
            turn=settled.turn.id,
            authority_version=version,
        )
    notice = runtime.settings.handoff.failure_notice
    if notice and isinstance(settled.answer, Failure):
        await seal_notice(runtime, transaction, conversation, notice, key=f"notice:{settled.turn.id}")


async def _seal(
    runtime: Runtime,
    transaction: Transaction,
    settlements: Sequence[Settlement],
    verdicts: Mapping[TurnId, Verdict],
    versions: Mapping[TurnId, int],
) -> None:
    sealed = [
        (settled, number, part)
        for settled in settlements
        for number, part in enumerate(settled.parts, start=1)
    ]
    if not sealed:
        return
    await transaction.execute(
        SQL["seal_messages"],
        runtime.clock.now(),
        runtime.settings.outbox.hold_seconds,
        [settled.turn.conversation.account for settled, _, _ in sealed],
        [runtime.chance.new_id() for _ in sealed],
        [settled.turn.conversation.id for settled, _, _ in sealed],
        [settled.turn.channel for settled, _, _ in sealed],
        [Author.AI.value for _ in sealed],
        [settled.turn.id for settled, _, _ in sealed],
        [f"{settled.turn.id}:{number}" for settled, number, _ in sealed],
        [number for _, number, _ in sealed],
        [len(settled.parts) for settled, _, _ in sealed],
        [part.text for _, _, part in sealed],
        [dict(part.payload) for _, _, part in sealed],
        [verdicts[settled.turn.id].parks for settled, _, _ in sealed],
        [versions[settled.turn.id] for settled, _, _ in sealed],
        [verdicts[settled.turn.id].arrivals_seen for settled, _, _ in sealed],
        [verdicts[settled.turn.id].wrote for settled, _, _ in sealed],
    )


def _end(settlement: Settlement, verdict: Verdict) -> TurnEnd:
    answer = settlement.answer
    proposal = answer if isinstance(answer, Proposal) else None
    return TurnEnd(
        turn=settlement.turn.id,
        conversation=settlement.turn.conversation,
        state=verdict.state,
        reason=verdict.reason,
        messages_freed=not verdict.answers,
        wrote=verdict.wrote,
        confidence=proposal.confidence if proposal else None,
        usage=proposal.usage if proposal else None,
    )


def _without_blanks(proposal: Proposal) -> Proposal:
    """A blank message has no part that could be sent: sealed, it would answer the customer with nothing."""
    messages = tuple(message for message in proposal.messages if not message.is_blank)
    if len(messages) == len(proposal.messages):
        return proposal
    return replace(proposal, messages=messages, silence_reason=proposal.silence_reason or "blank_reply")


def _says_it_wrote(answer: Proposal | Failure | CutShort) -> bool:
    return isinstance(answer, Proposal) and answer.wrote


def _note(verdict: Verdict) -> str | None:
    if verdict.handoff is None:
        return None
    lines = [line for line in (verdict.handoff.note, verdict.handoff.summary) if line]
    return "\n".join(lines) or None


def _without_turn(conversation: Conversation) -> Conversation:
    """The settled turn has ended in this transaction: the transition must not end it again."""
    return replace(conversation, running_turn_id=None)


def _facts(
    runtime: Runtime,
    settlement: Settlement,
    conversation: Conversation,
    turn: TurnFacts,
    *,
    writes: TurnWrites,
) -> Facts:
    return Facts(
        conversation=conversation,
        turn=turn,
        answer=settlement.answer,
        limits=_limits(runtime),
        wrote=writes.wrote or _says_it_wrote(settlement.answer),
        refused_write=writes.refused_reason,
        unknown_write=unknown_outcome(writes.unknown_tool) if writes.unknown_tool else None,
        policy=match_policies(
            runtime.policies,
            runtime.settings.handoff.opt_out_words,
            texts=settlement.texts,
            channel=conversation.channel,
            now=conversation.now,
        ),
        promises_human=promises_human(_texts(settlement)),
    )


def _texts(settlement: Settlement) -> list[str]:
    return [part.text for part in settlement.parts]


def _limits(runtime: Runtime) -> Limits:
    turns = runtime.settings.turns
    return Limits(
        max_wait_seconds=turns.max_wait_seconds,
        retry_for_seconds=turns.retry_for_seconds,
        min_confidence=runtime.settings.agent.min_confidence,
        carries_out_promises=runtime.settings.handoff.carry_out_promises,
    )


def _measure(runtime: Runtime, verdict: Verdict) -> None:
    telemetry = runtime.telemetry
    if verdict.state in (TurnState.OBSOLETE, TurnState.ABANDONED):
        telemetry.stale_blocked.labels(at="gate").inc()
    if verdict.state is TurnState.DISCARDED:
        telemetry.work_invalidated.labels(reason=verdict.reason).inc()
