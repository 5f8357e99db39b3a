"""Carry out a transition in one transaction: the new authority and everything that follows from it."""

from __future__ import annotations

from onevoice.flow.authority.decide import (
    Authority,
    Command,
    Decision,
    Request,
    Transition,
    decide_transition,
)
from onevoice.flow.conversation import (
    Conversation,
    ConversationKey,
    Entry,
    lock,
    record,
    refresh,
    set_authority,
)
from onevoice.flow.notify.perform import notify
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.end import TurnEnd, end_turns
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AuthorityState, OperatorId, TurnState

SQL = load_statements(__package__)


async def request_transition(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    command: Command,
    *,
    by: OperatorId | None = None,
    is_admin: bool = False,
    to: OperatorId | None = None,
    reason: str | None = None,
    note: str | None = None,
    holds: bool = False,
) -> Decision:
    """Decide on a locked conversation and save the transition with its consequences; the caller refreshes."""
    key = conversation.key
    flying = await transaction.fetch(
        SQL["read_in_flight"],
        runtime.clock.now(),
        key.account,
        key.id,
        runtime.settings.outbox.send_timeout_seconds,
    )
    decision = decide_transition(
        Authority(
            state=conversation.authority_state,
            version=conversation.authority_version,
            owner=conversation.authority_owner,
            reason=conversation.authority_reason,
            note=conversation.authority_note,
        ),
        Request(
            command=command,
            by=by,
            is_admin=is_admin,
            to=to,
            reason=reason,
            note=note,
            in_flight=bool(flying),
            holds=holds,
            held_by_hand=conversation.held_by_hand,
        ),
    )
    if isinstance(decision, Transition):
        await _carry_out(runtime, transaction, conversation, command, decision)
    return decision


async def confirm_waiting(runtime: Runtime, *, limit: int) -> int:
    """Confirm takeovers whose last in-flight effect is resolved; the sweep's repetition."""
    rows = await runtime.database.run("find_unconfirmed", SQL["find_unconfirmed"], limit)
    for row in rows:
        key = ConversationKey(row["account_id"], row["id"])
        async with runtime.database.transaction("confirm_takeover") as transaction:
            locked = await lock(transaction, [key], now=runtime.clock.now())
            await request_transition(runtime, transaction, locked[key], Command.CONFIRM)
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
    return len(rows)


async def return_idle(runtime: Runtime, *, limit: int) -> int:
    """Give conversations that a human left quiet for long back to the AI, where that is configured."""
    seconds = runtime.settings.handoff.idle_return_seconds
    if seconds <= 0:
        return 0
    rows = await runtime.database.run("find_idle", SQL["find_idle"], runtime.clock.now(), seconds, limit)
    for row in rows:
        key = ConversationKey(row["account_id"], row["id"])
        async with runtime.database.transaction("return_idle") as transaction:
            conversation = (await lock(transaction, [key], now=runtime.clock.now()))[key]
            idle = conversation.now - conversation.last_activity_at
            if idle.total_seconds() >= seconds:
                await request_transition(
                    runtime, transaction, conversation, Command.IDLE_RETURN, reason="idle"
                )
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
    return len(rows)


async def _carry_out(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    command: Command,
    decision: Transition,
) -> None:
    now = runtime.clock.now()
    key = conversation.key
    await _end_turn(runtime, transaction, conversation)
    await set_authority(
        transaction,
        key,
        state=decision.state,
        owner=decision.owner,
        reason=decision.reason,
        note=decision.note,
        held_by_hand=decision.held_by_hand,
        now=now,
    )
    await _settle_unsent(runtime, transaction, conversation, decision)
    if decision.state is AuthorityState.HANDOFF_PENDING and decision.owner is None:
        # A handoff without anyone being told is silence for the customer.
        await notify(runtime, transaction, [(key, "handoff", decision.reason or command.value, None)])
    await record(
        transaction,
        [
            Entry(
                kind="authority",
                conversation=key,
                state=decision.state.value,
                reason=decision.reason or command.value,
                data={
                    "command": command.value,
                    "from": conversation.authority_state.value,
                    "to": decision.state.value,
                    "version": conversation.authority_version + 1,
                    "owner": str(decision.owner) if decision.owner else None,
                    "note": decision.note,
                },
            )
        ],
        now=now,
    )
    _measure(runtime, conversation, decision)


async def end_work(runtime: Runtime, transaction: Transaction, conversation: Conversation) -> None:
    """End a locked conversation's turn and take back what the AI has not begun to send."""
    await _end_turn(runtime, transaction, conversation)
    await _take_back(runtime, transaction, conversation, keeps_goodbye=False, revokes_operator=False)


async def _end_turn(runtime: Runtime, transaction: Transaction, conversation: Conversation) -> None:
    key = conversation.key
    if conversation.running_turn_id is not None:
        await end_turns(
            runtime,
            transaction,
            [
                TurnEnd(
                    turn=conversation.running_turn_id,
                    conversation=key,
                    state=TurnState.OBSOLETE,
                    reason="authority_revoked",
                    messages_freed=True,
                )
            ],
        )
        runtime.telemetry.work_invalidated.labels(reason="authority_revoked").inc()


async def _settle_unsent(
    runtime: Runtime, transaction: Transaction, conversation: Conversation, decision: Transition
) -> None:
    key = conversation.key
    was_pending = conversation.authority_state is AuthorityState.HANDOFF_PENDING
    await _take_back(
        runtime,
        transaction,
        conversation,
        keeps_goodbye=decision.keeps_goodbye and was_pending,
        revokes_operator=decision.revokes_operator,
    )
    await transaction.execute(
        SQL["cancel_follow_ups"], runtime.clock.now(), key.account, key.id, "authority_changed"
    )
    await transaction.execute(SQL["restamp_unsent"], key.account, key.id, conversation.authority_version + 1)


async def _take_back(
    runtime: Runtime,
    transaction: Transaction,
    conversation: Conversation,
    *,
    keeps_goodbye: bool,
    revokes_operator: bool,
) -> None:
    now = runtime.clock.now()
    key = conversation.key
    revoked = await transaction.fetch(
        SQL["revoke_due"], now, key.account, key.id, keeps_goodbye, revokes_operator
    )
    turns = {row["turn_id"] for row in revoked if row["turn_id"] is not None}
    if turns:
        await transaction.execute(SQL["reopen_unbegun"], key.account, list(turns))
    mine = [row["id"] for row in revoked if row["author"] == "operator"]
    if mine:
        await transaction.execute(SQL["reopen_unanswered"], key.account, mine)
    await transaction.execute(SQL["forbid_retry"], key.account, key.id, revokes_operator)
    entries = [
        Entry(
            kind="outbound", conversation=key, subject=row["id"], state="revoked", reason="authority_revoked"
        )
        for row in revoked
    ]
    await record(transaction, entries, now=now)
    for row in revoked:
        runtime.telemetry.outbound.labels(
            author=row["author"], state="revoked", reason="authority_revoked"
        ).inc()


def _measure(runtime: Runtime, conversation: Conversation, decision: Transition) -> None:
    if decision.state is AuthorityState.AI_ACTIVE:
        runtime.telemetry.ai_resumed.inc()
    if (
        conversation.authority_state is AuthorityState.HANDOFF_PENDING
        and decision.state is AuthorityState.HUMAN_ACTIVE
    ):
        waited = (conversation.now - conversation.authority_since).total_seconds()
        runtime.telemetry.handoff_confirm_seconds.observe(max(0.0, waited))
