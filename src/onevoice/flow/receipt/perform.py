"""Apply a batch of statuses under their conversations' locks; keep those whose message is not known yet."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.flow.conversation import ConversationKey, lock, refresh
from onevoice.flow.outbox.lane import confirm_takeovers
from onevoice.flow.receipt.save import StatusReport, apply_orphans, correlate, save_statuses, write_error
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements

SQL = load_statements(__package__)

__all__ = ["StatusReport", "adopt_known_orphans", "apply_statuses"]


async def apply_statuses(runtime: Runtime, reports: Sequence[StatusReport]) -> list[None]:
    """Durable when this returns, known message or not. A status may confirm a waiting takeover."""
    now = runtime.clock.now()
    async with runtime.database.transaction("apply_statuses") as transaction:
        keys = await _find_conversations(transaction, reports)
        locked = await lock(transaction, keys, now=now)
        orphans, touched = await save_statuses(runtime, transaction, reports, locked)
        if orphans:
            await transaction.execute(
                SQL["keep_orphans"],
                now,
                [report.account for report in orphans],
                [report.channel for report in orphans],
                [report.item.external_id for report in orphans],
                [report.item.status for report in orphans],
                [report.item.at for report in orphans],
                [write_error(report.item.error) for report in orphans],
                [report.item.raw for report in orphans],
            )
        await confirm_takeovers(runtime, transaction, locked, touched)
        nudges = await refresh(runtime, transaction, touched)
    nudges.send(runtime)
    return [None] * len(reports)


async def adopt_known_orphans(runtime: Runtime, *, limit: int) -> int:
    """The sweep's join of orphans whose message became known in between; forgets the very old ones."""
    rows = await runtime.database.run("find_orphans", SQL["find_adoptable_orphans"], limit)
    for row in rows:
        key = ConversationKey(row["account_id"], row["conversation_id"])
        async with runtime.database.transaction("adopt_orphans") as transaction:
            locked = await lock(transaction, [key], now=runtime.clock.now())
            await apply_orphans(runtime, transaction, [(key, row["channel"], row["external_id"])], locked)
            await confirm_takeovers(runtime, transaction, locked, [key])
            nudges = await refresh(runtime, transaction, [key])
        nudges.send(runtime)
    await runtime.database.run("forget_orphans", SQL["forget_orphans"], runtime.clock.now(), limit)
    return len(rows)


async def _find_conversations(
    transaction: Transaction, reports: Sequence[StatusReport]
) -> list[ConversationKey]:
    recipients = [
        (report.account, report.channel, alias)
        for report in reports
        for alias in report.item.recipient_aliases
    ]
    rows = await transaction.fetch(
        SQL["find_conversations"],
        [report.account for report in reports],
        [report.channel for report in reports],
        [report.item.external_id for report in reports],
        [correlate(report.item.correlation_id)[0] for report in reports],
        [account for account, _, _ in recipients],
        [channel for _, channel, _ in recipients],
        [alias for _, _, alias in recipients],
    )
    return [ConversationKey(row["account_id"], row["conversation_id"]) for row in rows]
