"""Download files in the background: claim by lease, stream into the store, record what came of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from onevoice.errors import MediaUnavailable
from onevoice.flow.conversation import Conversation, ConversationKey, Entry, lock, record, refresh
from onevoice.flow.media.decide import (
    FETCH_SECONDS_MAX,
    LEASE_SECONDS,
    TRIES_MAX,
    After,
    Measured,
    decide_after,
    media_key,
)
from onevoice.flow.media.meter import Meter
from onevoice.flow.media.sniff import sniff_type
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import MediaRef
from onevoice.ports.wakeup import Work
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import (
    AccountId,
    ChannelName,
    MediaId,
    MediaKind,
    MediaState,
    MessageId,
    TranscriptionState,
)

LOG = logging.getLogger("onevoice.media")
SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file that this process is to fetch now."""

    account: AccountId
    id: MediaId
    message: MessageId
    channel: ChannelName
    ref: MediaRef
    try_count: int
    transcription: TranscriptionState | None


async def claim_downloads(runtime: Runtime, *, limit: int) -> list[Download]:
    """Take the files that are due, at most ``limit``; they are another's again when the lease runs out."""
    rows = await runtime.database.run(
        "claim_downloads", SQL["claim_downloads"], runtime.clock.now(), LEASE_SECONDS, limit
    )
    return [
        Download(
            account=AccountId(row["account_id"]),
            id=MediaId(row["id"]),
            message=MessageId(row["inbound_id"]),
            channel=ChannelName(row["channel"]),
            ref=MediaRef(
                kind=MediaKind(row["kind"]),
                external_id=row["external_id"],
                mime_type=row["claimed_type"],
                sha256=row["claimed_sha256"],
                filename=row["filename"],
            ),
            try_count=row["try_count"],
            transcription=_state(row["transcription_state"]),
        )
        for row in rows
    ]


async def renew_downloads(
    runtime: Runtime, downloads: Sequence[Download], *, seconds: float = LEASE_SECONDS
) -> None:
    """Keep downloads that still run for so long; 0 hands them to whoever looks next."""
    await runtime.database.run(
        "renew_downloads",
        SQL["renew_downloads"],
        runtime.clock.now(),
        seconds,
        [download.account for download in downloads],
        [download.id for download in downloads],
    )


async def fetch(runtime: Runtime, download: Download) -> Measured | MediaUnavailable:
    """Stream the file into the store; it counts only once ``finish_download`` says so."""
    channel = runtime.channels.get(download.channel)
    if channel is None:
        return MediaUnavailable("channel_removed", retry=False)
    if download.try_count > TRIES_MAX:
        # Every earlier try ended with its process.
        return MediaUnavailable("tries_exhausted", retry=False)
    meter = Meter()
    key = media_key(download.account, download.id)
    try:
        async with asyncio.timeout(FETCH_SECONDS_MAX), channel.download(download.ref) as stream:
            await runtime.media.write(key, meter.measure(stream.chunks))
        measured = _judge(meter, download.ref)
        if isinstance(measured, MediaUnavailable):
            await runtime.media.delete(key)
    except TimeoutError:
        return MediaUnavailable("timeout")
    except MediaUnavailable as error:
        return error
    except Exception as error:  # noqa: BLE001  # Whatever an adapter raised, the customer must not wait for it.
        LOG.warning("a download raised", extra={"media_id": str(download.id), "reason": type(error).__name__})
        return MediaUnavailable("adapter_raised")
    return measured


async def finish_download(
    runtime: Runtime, download: Download, outcome: Measured | MediaUnavailable
) -> MediaState:
    """Record the outcome under the conversation's lock; a turn that waited for nothing else falls due."""
    after = decide_after(
        outcome,
        try_count=download.try_count,
        transcription=download.transcription,
        jitter=runtime.chance.jitter(),
    )
    async with runtime.database.transaction("finish_download") as transaction:
        conversation = await lock_home(runtime, transaction, download.account, download.message)
        saved = await _save(runtime, transaction, download, outcome, after)
        if not saved:
            return after.state
        if after.frees_turn:
            await transaction.execute(SQL["free_turn"], download.account, download.message)
        if after.state is not MediaState.WAITING:
            await record(transaction, [_entry(conversation.key, download, after)], now=runtime.clock.now())
        nudges = await refresh(runtime, transaction, [conversation.key])
    nudges.send(runtime)
    runtime.telemetry.media.labels(
        kind=download.ref.kind.value, outcome="retried" if after.retry_in_seconds else after.state.value
    ).inc()
    if after.state is MediaState.FAILED:
        LOG.warning("a file cannot be had", extra={"media_id": str(download.id), "reason": after.reason})
    if after.retry_in_seconds is not None:
        runtime.wakeup.nudge(Work.MEDIA, in_seconds=after.retry_in_seconds)
    elif after.transcription is TranscriptionState.WAITING:
        runtime.wakeup.nudge(Work.MEDIA)
    return after.state


async def lock_home(
    runtime: Runtime, transaction: Transaction, account: AccountId, message: MessageId
) -> Conversation:
    """Lock the conversation that holds a message, also when a merge moves it meanwhile."""
    while True:
        key = await _home(transaction, account, message)
        locked = await lock(transaction, [key], now=runtime.clock.now())
        if await _home(transaction, account, message) == key:
            return locked[key]


async def _home(transaction: Transaction, account: AccountId, message: MessageId) -> ConversationKey:
    rows = await transaction.fetch(SQL["find_home"], account, message)
    return ConversationKey(account, rows[0]["conversation_id"])


async def _save(
    runtime: Runtime,
    transaction: Transaction,
    download: Download,
    outcome: Measured | MediaUnavailable,
    after: After,
) -> bool:
    measured = outcome if isinstance(outcome, Measured) else None
    rows = await transaction.fetch(
        SQL["finish_download"],
        runtime.clock.now(),
        download.account,
        download.id,
        after.state.value,
        after.reason,
        measured.mime_type if measured else None,
        measured.size_bytes if measured else None,
        measured.sha256 if measured else None,
        after.retry_in_seconds,
        after.transcription.value if after.transcription else None,
    )
    return bool(rows)


def _entry(key: ConversationKey, download: Download, after: After) -> Entry:
    return Entry(
        kind="media",
        conversation=key,
        subject=download.message,
        state=after.state.value,
        reason=after.reason,
        data={"kind": download.ref.kind.value, "tries": download.try_count},
    )


def _state(value: str | None) -> TranscriptionState | None:
    return TranscriptionState(value) if value else None


def _judge(meter: Meter, ref: MediaRef) -> Measured | MediaUnavailable:
    """What the bytes are; refused when they are not the file the webhook told of."""
    if meter.size_bytes == 0:
        return MediaUnavailable("empty")
    if ref.sha256 is not None and ref.sha256 != meter.digest:
        return MediaUnavailable("digest_differs")
    mime_type = sniff_type(meter.head, ref.kind, filename=ref.filename)
    if mime_type is None:
        return MediaUnavailable("type_differs", retry=False)
    return Measured(mime_type=mime_type, size_bytes=meter.size_bytes, sha256=meter.digest)
