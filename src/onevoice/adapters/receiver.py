"""Notifications as a signed webhook: one POST per notification, at least once."""

from __future__ import annotations

import hashlib
import hmac
import logging

import httpx2
import msgspec

from onevoice.ports.receiver import Notification

LOG = logging.getLogger("onevoice.notify")

TIMEOUT_SECONDS = 10.0


class WebhookReceiver:
    """Implements ports/receiver.py. ``http`` belongs to the caller, who closes it.

    The body is ``{"id", "account", "kind", "reason", "conversation", "data", "at"}``, signed as
    ``X-Onevoice-Signature: sha256=<hmac of the raw body>``; ``Idempotency-Key`` is the notification's id.
    """

    def __init__(self, *, url: str, secret: str, http: httpx2.AsyncClient) -> None:
        self._url = url
        self._secret = secret.encode()
        self._http = http

    async def tell(self, notification: Notification) -> bool:
        body = msgspec.json.encode(
            {
                "id": notification.id,
                "account": notification.account,
                "kind": notification.kind,
                "reason": notification.reason,
                "conversation": notification.conversation_id,
                "data": notification.data,
                "at": notification.at,
            }
        )
        headers = {"content-type": "application/json", "idempotency-key": str(notification.id)}
        if self._secret:
            digest = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
            headers["x-onevoice-signature"] = f"sha256={digest}"
        try:
            response = await self._http.post(
                self._url, content=body, headers=headers, timeout=TIMEOUT_SECONDS
            )
        except httpx2.HTTPError as error:
            LOG.warning("the notification's receiver is away", extra={"reason": type(error).__name__})
            return False
        if not response.is_success:
            LOG.warning("the notification's receiver refused it", extra={"status": response.status_code})
        return response.is_success
