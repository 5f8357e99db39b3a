"""Authorise and finish writes: each one transaction under the conversation's lock."""

from __future__ import annotations

from dataclasses import dataclass

from onevoice.errors import ConversationUnknown, EffectSettled, EffectUnknown, WriteArgumentsInvalid
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.conversation.decide import Row
from onevoice.flow.conversation.perform import read_row
from onevoice.flow.effect.decide import (
    OUTCOME_UNKNOWN,
    TOOL_CHARS_MAX,
    TURN_OVER,
    WRITE_SECONDS_MAX,
    Again,
    Begin,
    Decision,
    Effect,
    Facts,
    Recorded,
    Refuse,
    Report,
    decide_report,
    decide_write,
    effect_key,
    is_storable,
)
from onevoice.flow.notify.perform import notify
from onevoice.flow.outbox.lane import confirm_takeovers
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import TurnFacts
from onevoice.flow.turn.end import read_turns
from onevoice.ports.writes import WriteCall
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ConversationId, EffectId, EffectState, OperatorId, TurnId

SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorised:
    """What the gate says to a write. ``STARTED``: do it, unless ``WRITE_SECONDS_MAX`` have passed. ``DONE``: it is
    done, with this result. ``AWAITING``: an operator decides. ``REFUSED``: do not do it, for this ``reason``."""

    key: str
    state: EffectState
    effect: EffectId | None = None
    result: object = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A call under its conversation's lock; ``turn`` is ``None`` outside a turn."""

    call: WriteCall
    key: str
    conversation: Conversation
    turn: TurnFacts | None
    version: int


async def authorise(runtime: Runtime, turn: TurnId, call: WriteCall, *, account: AccountId) -> Authorised:
    """Whether this write of a turn may begin; durable before the answer. Raises ``EffectUnknown`` without the turn."""
    check_call(call)
    async with runtime.database.transaction("authorise_write", account=account) as transaction:
        found = await transaction.fetch_one(SQL["find_turn"], account, turn)
        if found is None:
            raise EffectUnknown
        key = ConversationKey(account, ConversationId(found["conversation_id"]))
        locked = await lock(transaction, [key], now=runtime.clock.now())
        facts = (await read_turns(runtime, transaction, [(key, turn)]))[turn]
        asked = _Asked(
            call=call,
            key=effect_key(call.tool, call.args, call.occurrence),
            conversation=locked[key],
            turn=facts,
            version=facts.authority_version,
        )
        authorised = await _authorise(runtime, transaction, asked)
    _measure(runtime, authorised)
    return authorised


async def authorise_outside(
    runtime: Runtime, conversation: ConversationKey, call: WriteCall, *, authority_version: int
) -> Authorised:
    """The same for automation outside a turn, under the authority version it last read."""
    check_call(call)
    async with runtime.database.transaction("authorise_write", account=conversation.account) as transaction:
        locked = await lock(transaction, [conversation], now=runtime.clock.now())
        if conversation not in locked:
            raise ConversationUnknown
        asked = _Asked(
            call=call,
            key=effect_key(call.tool, call.args, call.occurrence, outside=True),
            conversation=locked[conversation],
            turn=None,
            version=authority_version,
        )
        authorised = await _authorise(runtime, transaction, asked)
    _measure(runtime, authorised)
    return authorised


async def finish(
    runtime: Runtime, account: AccountId, effect: EffectId, *, state: EffectState, result: object
) -> None:
    """Record an outcome, whenever it comes; a second, different one raises ``EffectSettled``.

    Whoever finishes the last write in flight confirms a waiting takeover.
    """
    if not is_storable(result):
        raise WriteArgumentsInvalid("the result of a write must be JSON without NUL characters")
    async with runtime.database.transaction("finish_write", account=account) as transaction:
        key, conversation, known = await lock_effect(runtime, transaction, account, effect)
        match decide_report(known, state=state, result=result):
            case Report.CONTRADICTS:
                raise EffectSettled(f"the effect is {known.state.value} already; what is recorded stays")
            case Report.KNOWN:
                return
            case Report.NEW:
                reason = "tool_failed" if state is EffectState.FAILED else None
                await end_effect(
                    runtime, transaction, conversation, known, state=state, result=result, reason=reason
                )
        nudges = await refresh(runtime, transaction, [key])
    nudges.send(runtime)


async def lock_effect(
    runtime: Runtime, transaction: Transaction, account: AccountId, effect: EffectId
) -> tuple[ConversationKey, Conversation, Effect]:
    """Find the effect's conversation, lock it, and only then read; raises ``EffectUnknown``."""
    found = await transaction.fetch_one(SQL["find_effect"], account, effect)
    if found is None:
        raise EffectUnknown
    while True:
        key = ConversationKey(account, ConversationId(found["conversation_id"]))
        locked = await lock(transaction, [key], now=runtime.clock.now())
        [found] = await transaction.fetch(SQL["read_effect"], account, effect)
        # Two contacts that turned out to be one: the effect has moved while this waited for the lock.
        if found["conversation_id"] == key.id:
            return key, locked[key], read_effect(found)


def read_effect(row: Row) -> Effect:
    return read_row(Effect, row, state=EffectState(row["state"]))


async def read_known(transaction: Transaction, key: ConversationKey) -> list[Effect]:
    """What began in a locked conversation and the customer does not know of, and what waits for approval."""
    rows = await transaction.fetch(SQL["read_untold"], key.account, key.id)
    return [read_effect(row) for row in rows]


def has_written(known: list[Effect]) -> bool:
    """Whether the next reply has something to tell; automation outside turns has nothing to say to the customer."""
    return any(effect.turn_id is not None and effect.state is not EffectState.AWAITING for effect in known)


def check_call(call: WriteCall) -> None:
    """Refuse what could not be stored or compared; raises ``WriteArgumentsInvalid``."""
    if not 0 < len(call.tool) <= TOOL_CHARS_MAX or not is_storable(call.tool):
        raise WriteArgumentsInvalid(f"a tool's name has 1 to {TOOL_CHARS_MAX} characters")
    if not is_storable(call.args) or not is_storable(call.occurrence):
        raise WriteArgumentsInvalid(
            f"the arguments of {call.tool} must be JSON without NUL characters, at most 64 KiB"
        )


async def record_effect(
    runtime: Runtime,
    transaction: Transaction,
    conversation: ConversationKey,
    effect: EffectId | TurnId | None,
    *,
    tool: str,
    state: str,
    reason: str | None,
    operator: OperatorId | None = None,
) -> None:
    """One line of the journal; never the arguments: they may be a customer's words."""
    entry = Entry(
        kind="effect",
        conversation=conversation,
        subject=effect,
        state=state,
        reason=reason,
        data={"tool": tool} | ({"operator": str(operator)} if operator else {}),
    )
    await record(transaction, [entry], now=runtime.clock.now())


async def _authorise(runtime: Runtime, transaction: Transaction, asked: _Asked) -> Authorised:
    key = asked.conversation.key
    known = await read_known(transaction, key)
    decision = decide_write(
        Facts(
            conversation=asked.conversation,
            turn=asked.turn,
            version=asked.version,
            known=next((effect for effect in known if effect.key == asked.key), None),
            wrote=has_written(known),
            retry_safe=asked.call.retry_safe,
            max_wait_seconds=runtime.settings.turns.max_wait_seconds,
        )
    )
    authorised = await _save(runtime, transaction, asked, decision)
    await record_effect(
        runtime,
        transaction,
        key,
        authorised.effect or (asked.turn.id if asked.turn else None),
        tool=asked.call.tool,
        state="repeated" if isinstance(decision, Recorded) else authorised.state.value,
        reason=authorised.reason,
    )
    return authorised


async def _save(runtime: Runtime, transaction: Transaction, asked: _Asked, decision: Decision) -> Authorised:
    account = asked.conversation.key.account
    match decision:
        case Recorded(effect=effect):
            return Authorised(key=asked.key, state=EffectState.DONE, effect=effect.id, result=effect.result)
        case Again(effect=effect) if effect.state is EffectState.AWAITING:
            return Authorised(key=asked.key, state=EffectState.AWAITING, effect=effect.id)
        case Again(effect=effect):
            await transaction.execute(
                SQL["begin_effect"],
                runtime.clock.now(),
                account,
                effect.id,
                asked.turn.id if asked.turn else None,
                asked.conversation.authority_version,
                WRITE_SECONDS_MAX,
            )
            return Authorised(
                key=asked.key, state=EffectState.STARTED, effect=effect.id, reason="repeated_safely"
            )
        case Begin(closes=closes):
            if closes is not None:
                await transaction.execute(
                    SQL["refuse_effect"], runtime.clock.now(), account, closes, TURN_OVER
                )
            state = EffectState.AWAITING if asked.call.needs_approval else EffectState.STARTED
            kept = await _keep(runtime, transaction, asked, state=state, reason=None)
            if state is EffectState.AWAITING:
                key = asked.conversation.key
                await notify(runtime, transaction, [(key, "effect_awaiting", asked.call.tool, kept)])
            return Authorised(key=asked.key, state=state, effect=kept)
        case Refuse(code=code, ends_turn=ends_turn):
            kept = None
            if ends_turn and asked.turn is not None:
                # The turn's end looks for it: whatever the agent answers now is not believed.
                kept = await _keep(runtime, transaction, asked, state=EffectState.REFUSED, reason=code)
            return Authorised(key=asked.key, state=EffectState.REFUSED, effect=kept, reason=code)


async def _keep(
    runtime: Runtime, transaction: Transaction, asked: _Asked, *, state: EffectState, reason: str | None
) -> EffectId:
    effect = EffectId(runtime.chance.new_id())
    await transaction.execute(
        SQL["keep_effect"],
        runtime.clock.now(),
        asked.conversation.key.account,
        effect,
        asked.conversation.key.id,
        asked.turn.id if asked.turn else None,
        asked.conversation.authority_version,
        asked.call.tool,
        asked.call.args,
        asked.key,
        asked.call.retry_safe,
        state.value,
        reason,
        WRITE_SECONDS_MAX,
    )
    return effect


async def end_effect(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    known: Effect,
    *,
    state: EffectState,
    result: object,
    reason: str | None,
) -> None:
    """End a started effect under the lock; whoever ends the last one confirms a waiting takeover (I1)."""
    key = conversation.key
    await transaction.execute(
        SQL["end_effect"], runtime.clock.now(), key.account, known.id, state.value, reason, result
    )
    await record_effect(
        runtime, transaction, key, known.id, tool=known.tool, state=state.value, reason=reason
    )
    await confirm_takeovers(runtime, transaction, {key: conversation}, [key])


def _measure(runtime: Runtime, authorised: Authorised) -> None:
    telemetry = runtime.telemetry
    if authorised.state is EffectState.DONE or authorised.reason == OUTCOME_UNKNOWN:
        telemetry.duplicates_intercepted.labels(kind="effect").inc()
    elif authorised.state is EffectState.REFUSED:
        telemetry.stale_blocked.labels(at="effect").inc()
