"""Limits before work: a body that is too long is refused while it arrives, before anything parses it."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX = 256 * 1024
FILES_PATH = "/api/v1/media"


class BodyLimit:
    """Counts what is received, whatever the request says of its own length."""

    def __init__(self, app: ASGIApp, *, bytes_max: int = BODY_BYTES_MAX) -> None:
        self._app = app
        self._bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == FILES_PATH:
            # A file is not parsed but streamed, and its own limit counts what goes into the store.
            await self._app(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._bytes_max:
                # Raised where the body is read, inside the handlers that give every error its form.
                raise HTTPException(413)
            return message

        await self._app(scope, receive_counted, send)
