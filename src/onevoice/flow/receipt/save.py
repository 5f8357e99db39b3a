"""Apply statuses to messages of locked conversations, one after the other, and save where each message ends up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from onevoice.flow.conversation import Conversation, ConversationKey, Entry, record
from onevoice.flow.conversation.decide import Row
from onevoice.flow.outbox.lane import Stop, pace_next_parts, stop_automation
from onevoice.flow.receipt.decide import Reception, decide_status, is_late_ai_send
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import ChannelError, StatusItem
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import (
    AccountId,
    Author,
    ChannelName,
    ErrorAction,
    OutboundId,
    OutboundState,
    StopAi,
)

SQL = load_statements(__package__)

ACCEPTED = (OutboundState.SENT, OutboundState.DELIVERED, OutboundState.READ, OutboundState.PLAYED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """One status with the channel it came from."""

    account: AccountId
    channel: ChannelName
    item: StatusItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a message stands while the statuses of one batch are applied to it."""

    key: ConversationKey
    message: OutboundId
    channel: ChannelName
    author: Author
    before: OutboundState
    state: OutboundState
    reception: Reception | None = None
    error: ChannelError | None = None
    external_id: str | None = None
    attempt: int | None = None
    later_began: bool = False
    attempt_count: int = 0
    times: Mapping[str, datetime | None] | None = None


def correlate(correlation_id: str | None) -> tuple[UUID | None, int | None]:
    """Read ``<outbound id>.<attempt>``; anything else is somebody else's correlation."""
    if correlation_id is None:
        return None, None
    message, _, attempt = correlation_id.partition(".")
    try:
        return UUID(message), int(attempt)
    except ValueError:
        return None, None


async def save_statuses(
    runtime: Runtime,
    transaction: Transaction,
    reports: Sequence[StatusReport],
    locked: Mapping[ConversationKey, Conversation],
) -> tuple[list[StatusReport], list[ConversationKey]]:
    """Apply statuses whose message is known; returns those without one, and the conversations touched."""
    correlated = [correlate(report.item.correlation_id) for report in reports]
    rows = await transaction.fetch(
        SQL["find_messages"],
        list(range(len(reports))),
        [report.account for report in reports],
        [report.channel for report in reports],
        [report.item.external_id for report in reports],
        [message for message, _ in correlated],
    )
    # A message that became known between the look and the lock stays an orphan; the sweep joins it.
    found = {
        row["ord"]: row
        for row in rows
        if ConversationKey(row["account_id"], row["conversation_id"]) in locked
    }
    progress: dict[OutboundId, Progress] = {}
    for ord, report in enumerate(reports):
        row = found.get(ord)
        if row is None:
            continue
        message = OutboundId(row["id"])
        current = progress.get(message) or _start(row)
        progress[message] = _apply(runtime, current, report.item, correlated[ord][1], locked)
    await _save(runtime, transaction, list(progress.values()))
    await stop_automation(runtime, transaction, locked, [_stop(current) for current in progress.values()])
    orphans = [report for ord, report in enumerate(reports) if ord not in found]
    return orphans, [current.key for current in progress.values()]


async def apply_orphans(
    runtime: Runtime,
    transaction: Transaction,
    known: Sequence[tuple[ConversationKey, ChannelName, str]],
    locked: Mapping[ConversationKey, Conversation],
) -> None:
    """Join statuses that came before their message's id was known."""
    if not known:
        return
    rows = await transaction.fetch(
        SQL["adopt_orphans"],
        [key.account for key, _, _ in known],
        [channel for _, channel, _ in known],
        [external_id for _, _, external_id in known],
    )
    reports = [
        StatusReport(
            account=row["account_id"],
            channel=row["channel"],
            item=StatusItem(
                external_id=row["external_id"],
                status=row["status"],
                raw=row["raw"],
                at=row["at"],
                error=read_error(row["error"]),
            ),
        )
        for row in sorted(rows, key=lambda row: row["received_at"])
    ]
    if reports:
        await save_statuses(runtime, transaction, reports, locked)


def write_error(error: ChannelError | None) -> dict[str, object] | None:
    """An error as an orphan keeps it."""
    if error is None:
        return None
    return {
        "action": error.action.value,
        "code": error.code,
        "detail": error.detail,
        "stop_ai": error.stop_ai.value,
        "retries_max": error.retries_max,
        "retry_after_seconds": error.retry_after_seconds,
        "slows_channel": error.slows_channel,
    }


def read_error(kept: Mapping[str, Any] | None) -> ChannelError | None:
    if kept is None:
        return None
    return ChannelError(
        action=ErrorAction(kept["action"]),
        code=kept["code"],
        detail=kept["detail"],
        stop_ai=StopAi(kept["stop_ai"]),
        retries_max=kept["retries_max"],
        retry_after_seconds=kept["retry_after_seconds"],
        slows_channel=kept["slows_channel"],
    )


def _start(row: Row) -> Progress:
    state = OutboundState(row["state"])
    return Progress(
        key=ConversationKey(row["account_id"], row["conversation_id"]),
        message=OutboundId(row["id"]),
        channel=row["channel"],
        author=Author(row["author"]),
        before=state,
        state=state,
        later_began=row["later_began"],
        attempt_count=row["attempt_count"],
    )


def _apply(
    runtime: Runtime,
    current: Progress,
    item: StatusItem,
    attempt: int | None,
    locked: Mapping[ConversationKey, Conversation],
) -> Progress:
    reception = decide_status(
        current.state,
        item.status,
        item.error,
        later_began=current.later_began,
        attempt_count=current.attempt_count,
    )
    conversation = locked.get(current.key)
    if conversation is not None and is_late_ai_send(conversation, current.author, item.status, item.at):
        runtime.telemetry.late_ai_send.inc()
    return replace(
        current,
        state=reception.state or current.state,
        reception=reception if reception.state is not None else current.reception,
        error=item.error if reception.state is not None else current.error,
        external_id=item.external_id,
        attempt=attempt if attempt is not None else current.attempt,
        times={**(current.times or {}), item.status: item.at},
    )


async def _save(runtime: Runtime, transaction: Transaction, progress: Sequence[Progress]) -> None:
    if not progress:
        return
    now = runtime.clock.now()
    changed = [current.reception is not None for current in progress]
    await transaction.execute(
        SQL["save_receptions"],
        now,
        [current.key.account for current in progress],
        [current.message for current in progress],
        [current.state.value if moved else None for current, moved in zip(progress, changed, strict=True)],
        [current.reception.reason if current.reception else None for current in progress],
        [current.external_id for current in progress],
        [current.error.code if current.error else None for current in progress],
        [current.error.detail if current.error else None for current in progress],
        [current.reception.retry_in_seconds if current.reception else None for current in progress],
        [(current.times or {}).get("sent") for current in progress],
        [(current.times or {}).get("delivered") for current in progress],
        [(current.times or {}).get("read") for current in progress],
    )
    accepted = [current for current in progress if current.state in ACCEPTED and current.attempt]
    await transaction.execute(
        SQL["resolve_attempts"],
        now,
        [current.key.account for current in accepted],
        [current.message for current in accepted],
        [current.attempt for current in accepted],
        [current.external_id for current in accepted],
    )
    began = [
        (current.key, current.message)
        for current in progress
        if current.before in (OutboundState.SENDING, OutboundState.UNCERTAIN) and current.state in ACCEPTED
    ]
    if began:
        await pace_next_parts(runtime, transaction, began)
    moved = [current for current in progress if current.reception is not None]
    await record(transaction, [_entry(current) for current in moved], now=now)
    for current in moved:
        reason = (current.reception.reason if current.reception else None) or ""
        runtime.telemetry.outbound.labels(
            author=current.author.value, state=current.state.value, reason=reason
        ).inc()


def _entry(current: Progress) -> Entry:
    return Entry(
        kind="outbound",
        conversation=current.key,
        subject=current.message,
        state=current.state.value,
        reason=current.reception.reason if current.reception else None,
    )


def _stop(current: Progress) -> Stop:
    reception = current.reception
    return Stop(
        key=current.key,
        channel=current.channel,
        extent=reception.stop_ai if reception else StopAi.NO,
        code=current.error.code if current.error else "",
    )
