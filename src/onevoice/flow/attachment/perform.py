"""Keep files that are handed in, and look up what a message refers to."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from onevoice.errors import MessageUnsendable
from onevoice.flow.attachment.decide import FILE_BYTES_MAX, Prepared, check_content, choose_kind
from onevoice.flow.conversation import ConversationKey, Row
from onevoice.flow.media.decide import media_key
from onevoice.flow.media.meter import Meter
from onevoice.flow.media.sniff import UNKNOWN_TYPE, sniff_type
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.store.statements import load_statements
from onevoice.vocabulary import (
    AccountId,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    OutgoingMessage,
    Proposal,
)

SQL = load_statements(__package__)

FILENAME_CHARS_MAX = 240
# Texts that nothing but their names tells apart.
PLAIN_TYPES = ("text/csv", "text/calendar", "text/vcard", "application/json")


async def keep_file(
    runtime: Runtime,
    account: AccountId,
    chunks: AsyncIterable[bytes],
    *,
    filename: str | None = None,
    claimed_type: str | None = None,
) -> Media:
    """Stream a file into the store and give it a row; its type is what its bytes say.

    Raises ``MessageUnsendable`` for one that is empty or larger than ``FILE_BYTES_MAX``, ``MediaUnavailable`` when the
    store is away. Whoever dies in between leaves bytes without a row, which nobody can name.
    """
    media = MediaId(runtime.chance.new_id())
    key = media_key(account, media)
    meter = Meter()
    await runtime.media.write(key, meter.measure(_bounded(chunks)))
    if meter.size_bytes == 0:
        await runtime.media.delete(key)
        raise MessageUnsendable("file_empty", "the file has no bytes; send it again")
    name = _safe_name(filename)
    mime_type = _identify(meter.head, name, claimed_type)
    async with runtime.database.transaction("keep_file", account=account) as transaction:
        await transaction.execute(
            SQL["keep_file"],
            runtime.clock.now(),
            account,
            media,
            choose_kind(mime_type).value,
            name,
            claimed_type,
            mime_type,
            meter.size_bytes,
            meter.digest,
        )
        rows = await transaction.fetch(SQL["read_files"], account, [media])
    return _file(rows[0])


async def prepare_message(
    transaction: Transaction, key: ConversationKey, message: OutgoingMessage
) -> Prepared:
    """The message with the file or the reaction's target it names; ``MessageUnsendable`` for what is not there."""
    check_content(message)
    if message.media is not None:
        rows = await transaction.fetch(SQL["read_files"], key.account, [message.media.id])
        return Prepared(message=message, file=_usable(rows))
    if message.reaction is not None:
        target = await transaction.fetch(SQL["find_target"], key.account, key.id, message.reaction.message)
        if not target:
            raise MessageUnsendable(
                "reaction_target_unknown",
                "the reaction names no message of this customer; use an id of the timeline",
            )
        reaction = replace(message.reaction, message=target[0]["external_id"])
        return Prepared(message=replace(message, reaction=reaction))
    return Prepared(message=message)


async def prepare_proposal(
    runtime: Runtime, key: ConversationKey, proposal: Proposal
) -> tuple[Prepared, ...]:
    """An agent's messages with their bytes in the store; outside any transaction, and before the gate's.

    Raises ``MessageUnsendable`` and ``MediaUnavailable``.
    """
    messages = [await _keep_content(runtime, key, message) for message in proposal.messages]
    if not any(message.media or message.reaction for message in messages):
        return tuple(Prepared(message=message) for message in messages)
    async with runtime.database.transaction("prepare_proposal", account=key.account) as transaction:
        return tuple([await prepare_message(transaction, key, message) for message in messages])


async def _keep_content(runtime: Runtime, key: ConversationKey, message: OutgoingMessage) -> OutgoingMessage:
    check_content(message)
    if message.template is not None:
        raise MessageUnsendable(
            "template_by_agent", "templates are sent by operators and automation, not by agents"
        )
    media = message.media
    if media is None or media.content is None:
        return message
    file = await keep_file(
        runtime, key.account, _pieces(media.content), filename=media.filename, claimed_type=media.mime_type
    )
    return replace(message, media=replace(media, id=file.id, content=None))


async def read_file(transaction: Transaction, account: AccountId, media: MediaId) -> Media | None:
    """The row of a file of this account, in whatever state; ``None`` when there is none."""
    rows = await transaction.fetch(SQL["read_files"], account, [media])
    return _file(rows[0]) if rows else None


def _usable(rows: Sequence[Row]) -> Media:
    if not rows:
        raise MessageUnsendable(
            "media_unknown", "no file of this id belongs to the account; hand it in first"
        )
    file = _file(rows[0])
    if file.state is not MediaState.STORED:
        raise MessageUnsendable(
            "media_not_stored",
            f"the file is {file.state.value} ({file.reason or 'on its way'}); send another one",
        )
    return file


def _file(row: Row) -> Media:
    return Media(
        id=MediaId(row["id"]),
        kind=MediaKind(row["kind"]),
        state=MediaState(row["state"]),
        reason=row["reason"],
        mime_type=row["mime_type"],
        filename=row["filename"],
        size_bytes=row["size_bytes"],
    )


def _identify(head: bytes, filename: str | None, claimed_type: str | None) -> str:
    """What the bytes are; a claim counts only for what nobody recognises, and never makes it a picture or a sound."""
    found = sniff_type(head, MediaKind.DOCUMENT, filename=filename) or UNKNOWN_TYPE
    if found == "application/ogg":
        return "video/ogg" if b"theora" in head else "audio/ogg"
    claimed = (claimed_type or "").partition(";")[0].strip().lower()
    return claimed if found == "text/plain" and claimed in PLAIN_TYPES else found


def _safe_name(filename: str | None) -> str | None:
    """The last part of a path, short enough, with nothing in it that does not print."""
    name = PurePosixPath((filename or "").replace("\\", "/")).name
    printable = "".join(character for character in name if character.isprintable()).strip()
    if len(printable) > FILENAME_CHARS_MAX:
        suffix = PurePosixPath(printable).suffix[:20]
        printable = printable[: FILENAME_CHARS_MAX - len(suffix)] + suffix
    return printable or None


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


async def _bounded(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    size_bytes = 0
    async for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > FILE_BYTES_MAX:
            raise MessageUnsendable(
                "file_too_large", f"the file has more than {FILE_BYTES_MAX} bytes; send a smaller one"
            )
        yield chunk
