"""Files for the stage: handed in, and sent by an operator who holds the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from onevoice.flow.attachment.perform import keep_file
from onevoice.flow.authority.command import Actor
from onevoice.flow.authority.decide import Command
from onevoice.testing import MemoryMediaStore
from onevoice.vocabulary import AccountId, Media, OutgoingMedia, OutgoingMessage
from tests.perform.stage import Stage

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + b"\x00" * 64


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def handed_in(stage: Stage, content: bytes = PNG, *, account: str = "default", **fields: Any) -> Media:
    return await keep_file(stage.runtime, AccountId(account), pieces(content), **fields)


def store(stage: Stage) -> MemoryMediaStore:
    media = stage.runtime.media
    assert isinstance(media, MemoryMediaStore)
    return media


def an_image(file: Media, text: str = "") -> OutgoingMessage:
    return OutgoingMessage(text=text, media=OutgoingMedia(id=file.id))


async def owned(stage: Stage) -> Actor:
    """A conversation that an operator holds."""
    await stage.customer("oi")
    actor = await stage.operator("rita")
    await stage.command(Command.TAKE, actor)
    return actor
