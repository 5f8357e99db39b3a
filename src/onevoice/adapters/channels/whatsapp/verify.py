"""Who may speak to this channel: the signature over the raw bytes, and the GET that proves the URL ours."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final

from onevoice.errors import SignatureInvalid
from onevoice.ports.channel import WebhookAnswer, WebhookRequest

SIGNATURE_HEADER: Final = "x-hub-signature-256"
_SIGNATURE = re.compile("sha256=([0-9a-fA-F]{64})")
_CHALLENGE_CHARS_MAX: Final = 1024


def verify_signature(request: WebhookRequest, app_secrets: Sequence[str]) -> None:
    """Raise ``SignatureInvalid`` unless one of the secrets signed the raw body.

    A header that came twice is joined by commas before it gets here, and matches nothing. The older SHA-1
    header is never looked at.
    """
    match = _SIGNATURE.fullmatch(request.headers.get(SIGNATURE_HEADER, ""))
    if match is None:
        raise SignatureInvalid(
            "the webhook has no readable X-Hub-Signature-256 header; nothing was stored: "
            "check that the request comes from Meta and that no proxy drops or joins headers."
        )
    given = bytes.fromhex(match[1])
    # Every secret is tried, so that the time taken does not tell which one fits.
    fits = [hmac.compare_digest(given, _digest(secret, request.body)) for secret in app_secrets]
    if not any(fits):
        raise SignatureInvalid


def answer_challenge(request: WebhookRequest, verify_token: str) -> WebhookAnswer:
    """The challenge in plain text when the token is ours, else 403."""
    query = request.query
    challenge = query.get("hub.challenge", "")
    same_token = hmac.compare_digest(_octets(query.get("hub.verify_token", "")), _octets(verify_token))
    # An empty token of ours would be matched by anyone who leaves theirs out.
    if not (verify_token and same_token and query.get("hub.mode") == "subscribe"):
        return WebhookAnswer(status=403)
    if not 0 < len(challenge) <= _CHALLENGE_CHARS_MAX:
        return WebhookAnswer(status=403)
    return WebhookAnswer(status=200, body=_octets(challenge))


def _digest(secret: str, body: bytes) -> bytes:
    return hmac.new(_octets(secret), body, hashlib.sha256).digest()


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
