"""Webchat as a channel: its page's route verifies the visitor, the rows themselves are the delivery."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from onevoice.adapters.channels.webchat.compose import compose
from onevoice.adapters.channels.webchat.parse import contact_key, outbound_external_id, parse_submission
from onevoice.errors import MediaUnavailable, SignatureInvalid
from onevoice.ports.channel import (
    Accepted,
    Delivery,
    Item,
    MediaRef,
    MediaStream,
    NotSent,
    Outcome,
    Part,
    WebhookAnswer,
    WebhookRequest,
)
from onevoice.ports.clock import Clock
from onevoice.vocabulary import AccountId, ChannelName, Media, OutgoingMessage


class WebchatChannel:
    """One chat page. A message is accepted when its row says so: the visitor's stream reads the row."""

    kind: str = "webchat"
    # The visitor's page shows a message once its row says `sent`: a lost attempt has shown nothing.
    is_idempotent = True
    pair_burst: int | None = None
    pair_seconds: float = 1.0
    # Visitors see no typing sign yet.
    working_seconds: float | None = None
    # The page's own route serves files.
    upload_days: float | None = None
    route: str | None = None

    def __init__(self, *, name: ChannelName, account: AccountId, clock: Clock) -> None:
        self.name = name
        self.account = account
        self._clock = clock

    def answer_verification(self, request: WebhookRequest) -> WebhookAnswer:
        """There is no webhook to verify."""
        return WebhookAnswer(status=404, body=b"webchat has no webhook")

    def verify(self, request: WebhookRequest) -> None:
        """Refuse every webhook: only the page's route knows the visitor, by a signed cookie."""
        raise SignatureInvalid(
            f"channel {self.name} is a webchat and takes no webhooks; its page is /chat/{self.name}"
        )

    def parse(self, body: bytes) -> Sequence[Item]:
        """Read what the page's route wrote for a visitor it has verified."""
        return parse_submission(body)

    def compose(self, message: OutgoingMessage, file: Media | None = None) -> Sequence[Part]:
        """The page shows a text of any length, so a message is one part."""
        return compose(message, file)

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Nothing leaves the process: recording this answer is what makes the message visible."""
        if self._clock.monotonic() >= delivery.deadline:
            return NotSent(reason="deadline_passed")
        return Accepted(
            external_id=outbound_external_id(delivery.address, delivery.key),
            aliases=(contact_key(delivery.address),),
        )

    @asynccontextmanager
    async def download(self, media: MediaRef) -> AsyncGenerator[MediaStream]:
        """A visitor sends no files."""
        raise MediaUnavailable("no_such_file", retry=False)
        yield  # A context manager's body has one.

    async def upload(self, file: Media, chunks: AsyncIterator[bytes]) -> str:
        """Nobody asks for it: ``upload_days`` says so."""
        raise MediaUnavailable("not_uploaded", retry=False)

    async def show_working(self, message_external_id: str) -> None:
        """There is no such sign, and ``working_seconds`` says so."""

    async def close(self) -> None:
        """Nothing is open."""
