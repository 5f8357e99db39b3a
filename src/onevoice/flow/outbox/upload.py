"""Hand a file to its channel before the message that carries it: an act of its own, outside the fenced send."""

from __future__ import annotations

import asyncio
import logging

from onevoice.errors import MediaUnavailable
from onevoice.flow.conversation import lock, refresh
from onevoice.flow.media.decide import media_key
from onevoice.flow.outbox.begin import Upload
from onevoice.flow.outbox.decide import decide_upload_failed
from onevoice.flow.outbox.finish import Change, read_messages, save_changes, waits
from onevoice.flow.outbox.lane import stop_automation, stops_when_parked
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import OutboundState

LOG = logging.getLogger("onevoice.outbox")
SQL = load_statements(__package__)


async def upload(runtime: Runtime, asked: Upload) -> str | MediaUnavailable:
    """Stream the file to the channel once; its id there, or why there is none."""
    channel = runtime.channels.get(asked.channel)
    if channel is None or asked.file is None:
        return MediaUnavailable("missing", retry=False)
    chunks = runtime.media.read(media_key(asked.conversation.account, asked.file.id))
    try:
        async with asyncio.timeout(asked.seconds):
            return await channel.upload(asked.file, chunks)
    except TimeoutError:
        return MediaUnavailable("upload_timeout")
    except MediaUnavailable as error:
        return error
    except Exception as error:  # noqa: BLE001  # A foreign adapter may raise anything; the message must not wait for ever.
        LOG.warning(
            "a channel adapter raised",
            extra={"outbound_id": str(asked.message.id), "reason": type(error).__name__},
        )
        return MediaUnavailable("adapter_raised")


async def finish_upload(runtime: Runtime, asked: Upload, outcome: str | MediaUnavailable) -> OutboundState:
    """Record what came of it; its message leaves at once, or ends where the file cannot be had.

    A message that was revoked meanwhile stays so; what the channel has is kept for the next one with this file.
    """
    async with runtime.database.transaction("finish_upload") as transaction:
        await lock(transaction, [asked.conversation], now=runtime.clock.now())
        if isinstance(outcome, str):
            state = await _keep(runtime, transaction, asked, outcome)
        else:
            state = await _fail(runtime, transaction, asked, outcome)
        nudges = await refresh(runtime, transaction, [asked.conversation])
    nudges.send(runtime)
    return state


async def _keep(runtime: Runtime, transaction: Transaction, asked: Upload, external_id: str) -> OutboundState:
    now, account = runtime.clock.now(), asked.conversation.account
    message = asked.message
    await transaction.execute(
        SQL["keep_upload"], now, account, message.payload["media"], asked.channel, external_id
    )
    await transaction.execute(SQL["end_lease"], now, account, message.id, message.upload_try_count)
    found = await read_messages(runtime, transaction, [(asked.conversation, message.id)])
    return found[message.id].state


async def _fail(
    runtime: Runtime, transaction: Transaction, asked: Upload, error: MediaUnavailable
) -> OutboundState:
    found = await read_messages(runtime, transaction, [(asked.conversation, asked.message.id)])
    message = found[asked.message.id]
    if message.state is not OutboundState.DUE or message.upload_try_count != asked.message.upload_try_count:
        return message.state
    after = decide_upload_failed(message, error, waits(runtime))
    change = Change(key=asked.conversation, message=message, after=after)
    await save_changes(runtime, transaction, [change])
    row = {
        "account_id": asked.conversation.account,
        "conversation_id": asked.conversation.id,
        "author": message.author.value,
        "state": after.state.value,
        "reason": after.reason,
    }
    await stop_automation(runtime, transaction, stops_when_parked(runtime, [row]))
    return after.state
