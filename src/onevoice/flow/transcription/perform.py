"""Have voice messages transcribed in the background: claim by lease, one call, one transaction for the words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from onevoice.errors import MediaUnavailable, TranscriptionFailed
from onevoice.flow.conversation import ConversationKey, Entry, record, refresh
from onevoice.flow.inbound.amend import overtake
from onevoice.flow.inbound.decide import Amendment, TargetFacts, decide_amendment
from onevoice.flow.media.decide import media_key
from onevoice.flow.media.perform import lock_home
from onevoice.flow.runtime import Runtime
from onevoice.flow.transcription.decide import (
    LEASE_SECONDS,
    TRIES_MAX,
    After,
    counts_as_arrival,
    decide_after,
    name_audio,
)
from onevoice.flow.transcription.duration import measure_seconds
from onevoice.ports.transcriber import Audio, Transcriber, Transcript
from onevoice.ports.wakeup import Work
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, InboundState, MediaId, MessageId, TranscriptionState

LOG = logging.getLogger("onevoice.transcription")
SQL = load_statements(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """A stored audio that this process is to have transcribed now."""

    account: AccountId
    id: MediaId
    message: MessageId
    mime_type: str
    size_bytes: int
    try_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of one call. ``audio_seconds`` is how long the audio plays, where its container tells."""

    outcome: Transcript | TranscriptionFailed
    audio_seconds: float | None = None


async def claim_transcriptions(runtime: Runtime, *, limit: int) -> list[Hearing]:
    """Take the audios that are due, at most ``limit``; they are another's again when the lease runs out."""
    rows = await runtime.database.run(
        "claim_transcriptions", SQL["claim_transcriptions"], runtime.clock.now(), LEASE_SECONDS, limit
    )
    return [
        Hearing(
            account=AccountId(row["account_id"]),
            id=MediaId(row["id"]),
            message=MessageId(row["inbound_id"]),
            mime_type=row["mime_type"],
            size_bytes=row["size_bytes"],
            try_count=row["transcription_try_count"],
        )
        for row in rows
    ]


async def renew_transcriptions(
    runtime: Runtime, hearings: Sequence[Hearing], *, seconds: float = LEASE_SECONDS
) -> None:
    """Keep calls that still run for so long; 0 hands them to whoever looks next."""
    await runtime.database.run(
        "renew_transcriptions",
        SQL["renew_transcriptions"],
        runtime.clock.now(),
        seconds,
        [hearing.account for hearing in hearings],
        [hearing.id for hearing in hearings],
    )


async def hear(runtime: Runtime, hearing: Hearing) -> Heard:
    """One call to the transcriber; every way it can go wrong becomes a ``TranscriptionFailed`` with a reason."""
    transcriber = runtime.transcriber
    if transcriber is None:
        return Heard(outcome=TranscriptionFailed("no_transcriber", retry=False))
    if hearing.try_count > TRIES_MAX:
        # Every earlier try ended with its process.
        return Heard(outcome=TranscriptionFailed("tries_exhausted", retry=False))
    if hearing.size_bytes > transcriber.bytes_max:
        return Heard(outcome=TranscriptionFailed("too_large", retry=False))
    try:
        key = media_key(hearing.account, hearing.id)
        content = b"".join([piece async for piece in runtime.media.read(key)])
    except MediaUnavailable as error:
        return Heard(outcome=TranscriptionFailed(error.reason, retry=error.retry))
    filename = name_audio(hearing.mime_type)
    seconds = await asyncio.to_thread(measure_seconds, content, filename)
    audio = Audio(content=content, mime_type=hearing.mime_type, filename=filename, seconds=seconds)
    return Heard(outcome=await _call(runtime, transcriber, audio, hearing), audio_seconds=seconds)


async def _call(
    runtime: Runtime, transcriber: Transcriber, audio: Audio, hearing: Hearing
) -> Transcript | TranscriptionFailed:
    try:
        async with asyncio.timeout(runtime.settings.transcription.timeout_seconds):
            return await transcriber.transcribe(audio)
    except TimeoutError:
        return TranscriptionFailed("timeout")
    except TranscriptionFailed as error:
        return error
    except Exception as error:  # noqa: BLE001  # A foreign function may raise anything; the turn must not wait for it.
        LOG.warning(
            "the transcriber raised", extra={"media_id": str(hearing.id), "reason": type(error).__name__}
        )
        return TranscriptionFailed("transcriber_raised")


async def finish_transcription(runtime: Runtime, hearing: Hearing, heard: Heard) -> TranscriptionState:
    """Store the words and let the turn that waits for them fall due, in one transaction."""
    after = decide_after(heard.outcome, try_count=hearing.try_count, jitter=runtime.chance.jitter())
    async with runtime.database.transaction("finish_transcription") as transaction:
        conversation = await lock_home(runtime, transaction, hearing.account, hearing.message)
        if not await _save(runtime, transaction, hearing, heard, after):
            return after.state
        if after.state is not TranscriptionState.WAITING:
            waited = await _complete(runtime, transaction, conversation.key, hearing, after)
            entry = Entry(
                kind="transcription",
                conversation=conversation.key,
                subject=hearing.message,
                state=after.state.value,
                reason=after.reason,
                data={"tries": hearing.try_count},
            )
            await record(transaction, [entry], now=runtime.clock.now())
            runtime.telemetry.transcription_seconds.observe(waited)
        nudges = await refresh(runtime, transaction, [conversation.key])
    nudges.send(runtime)
    if after.retry_in_seconds is not None:
        runtime.wakeup.nudge(Work.MEDIA, in_seconds=after.retry_in_seconds)
    if after.state is TranscriptionState.FAILED:
        LOG.warning("an audio gets no words", extra={"media_id": str(hearing.id), "reason": after.reason})
    _measure(runtime, heard, after)
    return after.state


async def _save(
    runtime: Runtime, transaction: Transaction, hearing: Hearing, heard: Heard, after: After
) -> bool:
    transcript = heard.outcome if isinstance(heard.outcome, Transcript) else None
    rows = await transaction.fetch(
        SQL["finish_transcription"],
        runtime.clock.now(),
        hearing.account,
        hearing.id,
        after.state.value,
        after.reason,
        after.retry_in_seconds,
        transcript.model if transcript else None,
        transcript.usage if transcript else None,
        heard.audio_seconds,
    )
    return bool(rows)


async def _complete(
    runtime: Runtime, transaction: Transaction, key: ConversationKey, hearing: Hearing, after: After
) -> float:
    """Give the message its words; returns how many seconds it had waited for them."""
    now = runtime.clock.now()
    row = (await transaction.fetch(SQL["read_target"], now, hearing.account, hearing.message))[0]
    state = InboundState(row["state"])
    is_news = False
    if after.text is not None:
        if runtime.settings.agent.suggest_to_operators and state is InboundState.OPEN:
            await transaction.execute(SQL["ask_for_suggestion"], now, key.account, key.id)
        amendment = decide_amendment(
            TargetFacts(
                state=state,
                reply_part_count=row["reply_part_count"],
                reply_unsent_count=row["reply_unsent_count"],
                reply_wrote=row["reply_wrote"],
            )
        )
        is_news = counts_as_arrival(state, amendment)
        if is_news:
            turn = row["turn_id"] if amendment is Amendment.SUPERSEDE else None
            await overtake(runtime, transaction, key, unsent_reply_of=turn)
    await transaction.execute(
        SQL["complete_message"], now, hearing.account, hearing.message, after.text, is_news, key.id
    )
    return float((row["now"] - row["received_at"]).total_seconds())


def _measure(runtime: Runtime, heard: Heard, after: After) -> None:
    is_retried = after.state is TranscriptionState.WAITING
    outcome = "retried" if is_retried else after.state.value
    runtime.telemetry.transcriptions.labels(outcome=outcome, reason=after.reason or "").inc()
    if isinstance(heard.outcome, Transcript) and heard.audio_seconds is not None:
        minutes = heard.audio_seconds / 60
        runtime.telemetry.transcribed_seconds.inc(heard.audio_seconds)
        runtime.telemetry.transcription_cost.inc(minutes * runtime.settings.transcription.price_per_minute)
