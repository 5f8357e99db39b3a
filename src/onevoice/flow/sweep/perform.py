"""One look of the sweep over everything that may have been left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from onevoice.errors import DatabaseUnavailable
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


class Step(Protocol):
    async def __call__(self, runtime: Runtime, *, limit: int) -> int: ...


STEPS: Final[Sequence[Step]] = (
    abandon_lost,
    expire_sends,
    confirm_waiting,
    adopt_known_orphans,
    amend_pending,
    decide_waiting_echoes,
    seal_due_follow_ups,
    return_idle,
    move_stranded,
)


async def sweep(runtime: Runtime) -> int:
    """Finish what crashes left half done; returns the largest number of rows found of one kind.

    A step that fails keeps no other from its work; what failed is raised when all have had their look.
    """
    found = [0]
    failed: list[Exception] = []
    for step in STEPS:
        try:
            found.append(await step(runtime, limit=LIMIT))
        except DatabaseUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  # Raised below, with whatever else fails.
            failed.append(error)
    if failed:
        raise ExceptionGroup("steps of the sweep failed", failed)
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
