"""Apply statuses to messages of locked conversations, one after the other, and save where each message ends up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from onevoice.flow.conversation import Conversation, ConversationKey
from onevoice.flow.conversation.decide import Row
from onevoice.flow.effect.untold import note_told
from onevoice.flow.outbox.begin import record_outbound
from onevoice.flow.outbox.lane import (
    Stop,
    drop_later_parts,
    forget_uploads,
    pace_next_parts,
    stop_automation,
    stops_when_parked,
)
from onevoice.flow.receipt.decide import Reception, Standing, decide_status, is_late_ai_send
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
    standing: Standing
    known_external_id: str | None
    reception: Reception | None = None
    error: ChannelError | None = None
    external_id: str | None = None
    attempt: int | None = None
    times: Mapping[str, datetime | None] | None = None

    @property
    def state(self) -> OutboundState:
        return self.standing.state


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
        current = progress.get(message) or _start(row, locked)
        progress[message] = _apply(runtime, current, report.item, correlated[ord][1], locked)
    await _save(runtime, transaction, list(progress.values()))
    stops = [_stop(current) for current in progress.values() if current.reception is not None]
    stops += stops_when_parked(
        runtime, [_as_row(current) for current in progress.values() if current.reception is not None]
    )
    await stop_automation(runtime, transaction, stops)
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


def _start(row: Row, locked: Mapping[ConversationKey, Conversation]) -> Progress:
    state = OutboundState(row["state"])
    key = ConversationKey(row["account_id"], row["conversation_id"])
    is_current = row["authority_version"] == locked[key].authority_version
    return Progress(
        key=key,
        message=OutboundId(row["id"]),
        channel=row["channel"],
        author=Author(row["author"]),
        before=state,
        standing=Standing(
            state=state,
            reason=row["reason"],
            attempt_count=row["attempt_count"],
            may_retry=is_current and not row["no_retry"] and not row["later_began"],
        ),
        known_external_id=row["external_id"],
    )


def _apply(
    runtime: Runtime,
    current: Progress,
    item: StatusItem,
    attempt: int | None,
    locked: Mapping[ConversationKey, Conversation],
) -> Progress:
    standing = current.standing
    is_older = _is_older_attempt(current, item, attempt)
    reception = decide_status(replace(standing, is_older_attempt=is_older), item.status, item.error)
    if standing.state not in ACCEPTED and is_late_ai_send(
        locked[current.key], current.author, item.status, item.at
    ):
        runtime.telemetry.late_ai_send.inc()
    if reception.state is not None:
        standing = replace(standing, state=reception.state, reason=reception.reason)
    return replace(
        current,
        standing=standing,
        reception=reception if reception.state is not None else current.reception,
        error=item.error if reception.state is not None else current.error,
        external_id=item.external_id,
        attempt=attempt if attempt is not None else current.attempt,
        times={**(current.times or {}), item.status: item.at},
    )


def _is_older_attempt(current: Progress, item: StatusItem, attempt: int | None) -> bool:
    """By the correlation id's attempt; without one, an id known before the attempt on the wire has got its own."""
    if attempt is not None:
        return attempt < current.standing.attempt_count
    is_sending = current.standing.state is OutboundState.SENDING
    return is_sending and current.known_external_id == item.external_id


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
    await _resolve_attempts(runtime, transaction, progress)
    began = [
        (current.key, current.message)
        for current in progress
        if current.before in (OutboundState.SENDING, OutboundState.UNCERTAIN) and current.state in ACCEPTED
    ]
    if began:
        await pace_next_parts(runtime, transaction, began)
    await note_told(
        runtime,
        transaction,
        [(c.key, c.message) for c in progress if c.before not in ACCEPTED and c.state in ACCEPTED],
    )
    moved = [current for current in progress if current.reception is not None]
    ended = [(c.key, c.message) for c in moved if c.state in (OutboundState.FAILED, OutboundState.PARKED)]
    await forget_uploads(transaction, [(c.key, c.message) for c in moved if c.state is OutboundState.FAILED])
    parked = await drop_later_parts(runtime, transaction, ended)
    await record_outbound(runtime, transaction, [*map(_as_row, moved), *parked])


async def _resolve_attempts(runtime: Runtime, transaction: Transaction, progress: Sequence[Progress]) -> None:
    """An attempt whose sender never came back ends by what the channel says of it."""
    resolved = [
        (current, current.attempt, "accepted")
        for current in progress
        if current.state in ACCEPTED and current.attempt
    ]
    resolved += [
        (current, current.standing.attempt_count, "refused")
        for current in progress
        if current.reception is not None and current.state not in ACCEPTED
    ]
    errors = [current.error if outcome == "refused" else None for current, _, outcome in resolved]
    await transaction.execute(
        SQL["resolve_attempts"],
        runtime.clock.now(),
        [current.key.account for current, _, _ in resolved],
        [current.message for current, _, _ in resolved],
        [attempt for _, attempt, _ in resolved],
        [current.external_id for current, _, _ in resolved],
        [outcome for _, _, outcome in resolved],
        [error.code if error else None for error in errors],
        [error.detail if error else None for error in errors],
    )


def _as_row(current: Progress) -> dict[str, object]:
    return {
        "account_id": current.key.account,
        "conversation_id": current.key.id,
        "id": current.message,
        "author": current.author.value,
        "state": current.state.value,
        "reason": current.reception.reason if current.reception else None,
    }


def _stop(current: Progress) -> Stop:
    reception = current.reception
    return Stop(
        key=current.key,
        channel=current.channel,
        extent=reception.stop_ai if reception else StopAi.NO,
        code=current.error.code if current.error else "",
    )
