"""A WhatsApp number of the Business Cloud API, text side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx2

from onevoice.adapters.channels.whatsapp.deliver import deliver
from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.adapters.channels.whatsapp.split import split_text
from onevoice.adapters.channels.whatsapp.verify import answer_challenge, verify_signature
from onevoice.errors import ConfigurationError
from onevoice.ports.channel import Delivery, Item, Outcome, WebhookAnswer, WebhookRequest
from onevoice.vocabulary import AccountId, ChannelName


class WhatsAppChannel:
    """One connected number. ``http`` is shared by the channels and closed by who made it."""

    kind: str = "whatsapp"
    # The pair rate of wire format 1.14: about one message in six seconds, of which 45 may be borrowed.
    is_idempotent = False
    pair_burst: int | None = 45
    pair_seconds: float = 6.0

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
        monotonic: Callable[[], float],
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
        self._http = http
        self._monotonic = monotonic

    def answer_verification(self, request: WebhookRequest) -> WebhookAnswer:
        return answer_challenge(request, self._verify_token)

    def verify(self, request: WebhookRequest) -> None:
        verify_signature(request, self._app_secrets)

    def parse(self, body: bytes) -> Sequence[Item]:
        return parse(body)

    def split(self, text: str) -> Sequence[str]:
        return split_text(text)

    async def deliver(self, delivery: Delivery) -> Outcome:
        return await deliver(
            delivery,
            http=self._http,
            url=self._messages_url,
            access_token=self._access_token,
            monotonic=self._monotonic,
        )

    async def close(self) -> None:
        """Nothing of its own to close."""
