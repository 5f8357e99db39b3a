"""Writes that an operator must approve: the tool waits, and approval is checked against the authority as usual."""

from __future__ import annotations

from onevoice.errors import CommandRefused
from onevoice.flow.conversation import Conversation, refresh
from onevoice.flow.effect.decide import (
    APPROVAL_TIMEOUT,
    NOT_BEGUN,
    REFUSED_BY_OPERATOR,
    TURN_OVER,
    WRITE_SECONDS_MAX,
    Effect,
    Facts,
    decide_approval,
)
from onevoice.flow.effect.perform import (
    SQL,
    Authorised,
    end_effect,
    has_written,
    lock_effect,
    read_effect,
    read_known,
    record_effect,
)
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.end import read_turns
from onevoice.store.database import Transaction
from onevoice.vocabulary import AccountId, EffectId, EffectState, OperatorId

LOOK_SECONDS = 0.25
# What is left of the agent's own time limit afterwards is for its answer.
WAIT_SHARE = 0.8

SENTENCES = {
    "authority_revoked": "the conversation's authority has moved on; the write cannot be approved any more",
    "newer_message": "the customer has written again; the agent will ask anew if it still wants this",
    "turn_over": "the turn that asked has ended; the agent will ask anew if it still wants this",
}


async def approve(
    runtime: Runtime,
    account: AccountId,
    effect: EffectId,
    *,
    operator: OperatorId | None,
    seen_version: int | None = None,
) -> EffectState:
    """Let a waiting write begin, if its turn still may; raises ``CommandRefused``. Twice approved is once approved."""
    async with runtime.database.transaction("approve_write", account=account) as transaction:
        key, conversation, known = await lock_effect(runtime, transaction, account, effect)
        if known.state is not EffectState.AWAITING:
            return _settled(known, wanted=(EffectState.STARTED, EffectState.DONE))
        refusal = await _check(runtime, transaction, conversation, known, seen_version=seen_version)
        if refusal is None:
            await transaction.execute(
                SQL["begin_effect"],
                runtime.clock.now(),
                account,
                effect,
                known.turn_id,
                conversation.authority_version,
                WRITE_SECONDS_MAX,
            )
            await record_effect(
                runtime,
                transaction,
                key,
                effect,
                tool=known.tool,
                state="started",
                reason="approved",
                operator=operator,
            )
        else:
            await _refuse(runtime, transaction, conversation, known, reason=refusal)
    if refusal is not None:
        runtime.telemetry.stale_blocked.labels(at="effect").inc()
        raise CommandRefused(refusal, SENTENCES[refusal])
    return EffectState.STARTED


async def refuse(
    runtime: Runtime,
    account: AccountId,
    effect: EffectId,
    *,
    operator: OperatorId | None = None,
    reason: str = REFUSED_BY_OPERATOR,
) -> EffectState:
    """End a waiting write before it begins; raises ``CommandRefused`` when it has begun."""
    async with runtime.database.transaction("refuse_write", account=account) as transaction:
        _, conversation, known = await lock_effect(runtime, transaction, account, effect)
        if known.state is not EffectState.AWAITING:
            return _settled(known, wanted=(EffectState.REFUSED,))
        await _refuse(runtime, transaction, conversation, known, reason=reason, operator=operator)
    return EffectState.REFUSED


async def take_back(runtime: Runtime, account: AccountId, effect: EffectId) -> None:
    """Its caller was cut before the tool was called: it is known not to have happened."""
    async with runtime.database.transaction("take_back_write", account=account) as transaction:
        key, conversation, known = await lock_effect(runtime, transaction, account, effect)
        if known.state is EffectState.AWAITING:
            await _refuse(runtime, transaction, conversation, known, reason=TURN_OVER)
        elif known.state is EffectState.STARTED:
            await end_effect(
                runtime,
                transaction,
                conversation,
                known,
                state=EffectState.FAILED,
                result=None,
                reason=NOT_BEGUN,
            )
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


async def await_approval(
    runtime: Runtime, account: AccountId, asked: Authorised, *, since: float
) -> tuple[float, Authorised]:
    """Wait for the operator, and return the write's deadline with the answer.

    ``since`` is a monotonic instant before the question: an approval is no older than the look before it was seen.
    """
    effect = asked.effect
    assert effect is not None  # noqa: S101 - What awaits has a row.
    clock = runtime.clock
    ends_at = since + runtime.settings.agent.timeout_seconds * WAIT_SHARE
    while True:
        looked_at = clock.monotonic()
        async with runtime.database.transaction("look_for_approval", account=account) as transaction:
            known = read_effect((await transaction.fetch(SQL["read_effect"], account, effect))[0])
        if known.state is not EffectState.AWAITING:
            answer = Authorised(
                key=asked.key, state=known.state, effect=effect, result=known.result, reason=known.reason
            )
            return since + WRITE_SECONDS_MAX, answer
        since = looked_at
        if looked_at < ends_at:
            await clock.sleep(LOOK_SECONDS)
        else:
            await _time_out(runtime, account, effect)


async def _time_out(runtime: Runtime, account: AccountId, effect: EffectId) -> None:
    """An approval that came first stands: the next look finds it."""
    try:
        await refuse(runtime, account, effect, reason=APPROVAL_TIMEOUT)
    except CommandRefused:
        return


async def _check(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    known: Effect,
    *,
    seen_version: int | None,
) -> str | None:
    turn = known.turn_id
    assert turn is not None  # noqa: S101 - Only a turn's write waits for approval.
    facts = await read_turns(runtime, transaction, [(conversation.key, turn)])
    untold = await read_known(transaction, conversation.key)
    return decide_approval(
        Facts(
            conversation=conversation,
            turn=facts[turn],
            version=known.authority_version,
            known=None,
            wrote=has_written(untold),
            retry_safe=known.retry_safe,
            max_wait_seconds=runtime.settings.turns.max_wait_seconds,
        ),
        seen_version=seen_version,
    )


async def _refuse(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    known: Effect,
    *,
    reason: str,
    operator: OperatorId | None = None,
) -> None:
    key = conversation.key
    await transaction.execute(SQL["refuse_effect"], runtime.clock.now(), key.account, known.id, reason)
    await record_effect(
        runtime,
        transaction,
        key,
        known.id,
        tool=known.tool,
        state="refused",
        reason=reason,
        operator=operator,
    )


def _settled(known: Effect, *, wanted: tuple[EffectState, ...]) -> EffectState:
    if known.state in wanted:
        return known.state
    raise CommandRefused(
        "already_settled", f"the write does not wait for approval any more: it is {known.state.value}"
    )
