"""One look of the sweep over everything that may have been left behind."""

from __future__ import annotations

from onevoice.flow.authority.echo import decide_waiting_echoes
from onevoice.flow.authority.perform import confirm_waiting, return_idle
from onevoice.flow.conversation import ConversationKey, lock, refresh
from onevoice.flow.identity.perform import move_stranded
from onevoice.flow.inbound.amend import amend_pending
from onevoice.flow.operator.perform import seal_due_follow_ups
from onevoice.flow.outbox.expire import expire_sends
from onevoice.flow.receipt.perform import adopt_known_orphans
from onevoice.flow.runtime import Runtime
from onevoice.flow.sweep.decide import LIMIT
from onevoice.flow.turn.perform import abandon_lost
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)


async def sweep(runtime: Runtime) -> int:
    """Finish what crashes left half done; returns the largest number of rows found of one kind."""
    found = [
        await abandon_lost(runtime, limit=LIMIT),
        await expire_sends(runtime, limit=LIMIT),
        await confirm_waiting(runtime, limit=LIMIT),
        await adopt_known_orphans(runtime, limit=LIMIT),
        await amend_pending(runtime, limit=LIMIT),
        await decide_waiting_echoes(runtime, limit=LIMIT),
        await seal_due_follow_ups(runtime, limit=LIMIT),
        await return_idle(runtime, limit=LIMIT),
        await move_stranded(runtime, limit=LIMIT),
    ]
    return max(found)


async def reconcile(runtime: Runtime) -> None:
    """Count rows whose neighbours disagree, and derive the timers of conversations that have lost theirs."""
    now = runtime.clock.now()
    counts = (await runtime.database.run("count_divergence", SQL["count_divergence"], now))[0]
    for between in ("turn_timer", "outbox_channel"):
        runtime.telemetry.divergence.labels(between=between).set(counts[between])
    rows = await runtime.database.run("find_untimed", SQL["find_untimed"], now, LIMIT)
    for row in rows:
        key = ConversationKey(row["account_id"], row["id"])
        async with runtime.database.transaction("retime") as transaction:
            await lock(transaction, [key], now=now)
            await transaction.execute(SQL["clear_dead_turn"], key.account, key.id)
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
