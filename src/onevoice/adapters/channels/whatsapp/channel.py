"""A WhatsApp number of the Business Cloud API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import httpx2

from onevoice.adapters.channels.whatsapp.compose import compose
from onevoice.adapters.channels.whatsapp.deliver import deliver
from onevoice.adapters.channels.whatsapp.media import MediaSource, download
from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.adapters.channels.whatsapp.upload import UPLOAD_DAYS, upload
from onevoice.adapters.channels.whatsapp.verify import answer_challenge, verify_signature
from onevoice.adapters.channels.whatsapp.working import WORKING_SECONDS, show_working
from onevoice.errors import ConfigurationError
from onevoice.ports.channel import (
    Delivery,
    Item,
    MediaRef,
    MediaStream,
    Outcome,
    Part,
    WebhookAnswer,
    WebhookRequest,
)
from onevoice.vocabulary import AccountId, ChannelName, Media, OutgoingMessage


class WhatsAppChannel:
    """One connected number. ``http`` and ``files`` are shared by the channels and closed by who made them.

    ``files`` fetches customers' files from the addresses the API names, and refuses those that are not public.
    ``media_hosts`` get the token beside Meta's own hosts.
    """

    kind: str = "whatsapp"
    # The pair rate of wire format 1.14: about one message in six seconds, of which 45 may be borrowed.
    is_idempotent = False
    pair_burst: int | None = 45
    pair_seconds: float = 6.0
    upload_days: float | None = UPLOAD_DAYS

    def __init__(
        self,
        *,
        name: ChannelName,
        account: AccountId,
        phone_number_id: str,
        access_token: str,
        app_secrets: tuple[str, ...],
        verify_token: str,
        graph_url: str,
        http: httpx2.AsyncClient,
        files: httpx2.AsyncClient,
        monotonic: Callable[[], float],
        media_hosts: Sequence[str] = (),
        typing_indicator: bool = True,
    ) -> None:
        if not app_secrets or not all(app_secrets):
            # An empty key would be known to everyone.
            raise ConfigurationError([f"channels.{name}.app_secret: is empty; give the Meta app's secret"])
        self.name = name
        self.account = account
        self.route: str | None = phone_number_id
        self._access_token = access_token
        self._app_secrets = app_secrets
        self._verify_token = verify_token
        self._messages_url = f"{graph_url.rstrip('/')}/{phone_number_id}/messages"
        self._media_url = f"{graph_url.rstrip('/')}/{phone_number_id}/media"
        self._http = http
        self.working_seconds: float | None = WORKING_SECONDS if typing_indicator else None
        self._source = MediaSource(
            http=http,
            files=files,
            graph_url=graph_url,
            phone_number_id=phone_number_id,
            access_token=access_token,
            hosts=media_hosts,
        )
        self._monotonic = monotonic

    def answer_verification(self, request: WebhookRequest) -> WebhookAnswer:
        return answer_challenge(request, self._verify_token)

    def verify(self, request: WebhookRequest) -> None:
        verify_signature(request, self._app_secrets)

    def parse(self, body: bytes) -> Sequence[Item]:
        return parse(body)

    def compose(self, message: OutgoingMessage, file: Media | None = None) -> Sequence[Part]:
        return compose(message, file)

    async def deliver(self, delivery: Delivery) -> Outcome:
        return await deliver(
            delivery,
            http=self._http,
            url=self._messages_url,
            access_token=self._access_token,
            monotonic=self._monotonic,
        )

    def download(self, media: MediaRef) -> AbstractAsyncContextManager[MediaStream]:
        return download(media, self._source)

    async def upload(self, file: Media, chunks: AsyncIterator[bytes]) -> str:
        return await upload(
            file, chunks, http=self._http, url=self._media_url, access_token=self._access_token
        )

    async def show_working(self, message_external_id: str) -> None:
        await show_working(
            message_external_id,
            http=self._http,
            url=self._messages_url,
            access_token=self._access_token,
        )

    async def close(self) -> None:
        """Nothing of its own to close."""
