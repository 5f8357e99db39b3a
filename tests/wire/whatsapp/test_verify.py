"""Who may speak to the channel: signatures over raw bytes, and the GET that proves the URL."""

from __future__ import annotations

import json

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp.verify import answer_challenge, verify_signature
from onevoice.errors import ConfigurationError, SignatureInvalid
from onevoice.ports.channel import WebhookRequest
from tests.wire.whatsapp.wire import SECRET, make_channel, sign, webhook

VECTOR_BODY = (
    rb'{"object":"whatsapp_business_account","entry":[{"id":"200000000000002","changes":[{"field":"messages",'
    rb'"value":{"text":"Ol\u00e1 \ud83d\ude00 a\/b user\u0040example.com"}}]}]}'
)
VECTOR = "sha256=c049e6cf27dd3ca93839dfcebe84eaec22c49ce4c1d8e96d4d36074ddab6f1e7"


def test_the_published_vector_is_accepted() -> None:
    """The digest is over the raw bytes, escapes included."""
    verify_signature(webhook(VECTOR_BODY, VECTOR), (SECRET,))


def test_the_same_object_spelled_anew_is_refused() -> None:
    """A body that was parsed and written again is another body."""
    anew = json.dumps(json.loads(VECTOR_BODY), separators=(",", ":"), ensure_ascii=False).encode()

    assert sign(anew).startswith("sha256=7abee620")
    with pytest.raises(SignatureInvalid):
        verify_signature(webhook(anew, VECTOR), (SECRET,))


@pytest.mark.parametrize("secrets", [(SECRET, "next"), ("next", SECRET), ("a", "b", SECRET)])
def test_every_active_secret_counts(secrets: tuple[str, ...]) -> None:
    """During a rotation the old and the new secret are both good."""
    verify_signature(webhook(VECTOR_BODY, VECTOR), secrets)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        VECTOR[:-1],
        VECTOR + "0",
        VECTOR[:-1] + "8",
        VECTOR.removeprefix("sha256="),
        VECTOR.replace("sha256", "sha1"),
        f"{VECTOR}, {VECTOR}",
        f"{VECTOR},{VECTOR}",
        f"{VECTOR}\n",
        f" {VECTOR}",
        "sha256=" + "é" * 64,
        "sha256=" + "٣" * 64,
        "sha256=" + "\ud800" * 64,
        "sha256=" + "g" * 64,
        "sha256=" + "0 " * 32,
        sign(VECTOR_BODY, "another secret"),
        sign(VECTOR_BODY + b"\n"),
    ],
)
def test_any_other_header_is_refused(header: str | None) -> None:
    """Wrong, missing, doubled or unreadable: always the same refusal, never another error."""
    with pytest.raises(SignatureInvalid):
        verify_signature(webhook(VECTOR_BODY, header), (SECRET,))


def test_the_older_header_is_ignored() -> None:
    """SHA-1 neither opens the door nor closes it."""
    verify_signature(webhook(VECTOR_BODY, VECTOR, **{"x-hub-signature": "sha1=00"}), (SECRET,))
    with pytest.raises(SignatureInvalid):
        verify_signature(webhook(VECTOR_BODY, None, **{"x-hub-signature": VECTOR}), (SECRET,))


@pytest.mark.parametrize("secrets", [(), ("",), (SECRET, "")])
async def test_a_channel_without_a_secret_is_a_configuration_error(secrets: tuple[str, ...]) -> None:
    """An empty key would let anyone sign."""
    async with httpx2.AsyncClient() as http:
        with pytest.raises(ConfigurationError, match="app_secret"):
            make_channel(http, secrets=secrets)


def _verification(**query: str) -> WebhookRequest:
    named = {f"hub.{key}": value for key, value in query.items()}
    return WebhookRequest(method="GET", url="/webhooks/loja", headers={}, query=named, body=b"")


async def test_the_challenge_comes_back_exactly_and_as_plain_text() -> None:
    """Meta compares the body byte by byte."""
    async with httpx2.AsyncClient() as http:
        answer = make_channel(http).answer_verification(
            _verification(mode="subscribe", challenge="1158201444", verify_token="verify-example")
        )

    assert (answer.status, answer.body, answer.content_type) == (200, b"1158201444", "text/plain")


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"mode": "subscribe", "challenge": "1", "verify_token": "wrong"},
        {"mode": "subscribe", "challenge": "1", "verify_token": "verify-\u00e9"},
        {"mode": "subscribe", "challenge": "1"},
        {"mode": "unsubscribe", "challenge": "1", "verify_token": "verify-example"},
        {"challenge": "1", "verify_token": "verify-example"},
        {"mode": "subscribe", "verify_token": "verify-example"},
        {"mode": "subscribe", "challenge": "x" * 5000, "verify_token": "verify-example"},
    ],
)
def test_any_other_verification_is_forbidden(query: dict[str, str]) -> None:
    """Without our token the challenge is not repeated."""
    answer = answer_challenge(_verification(**query), "verify-example")

    assert (answer.status, answer.body) == (403, b"")


def test_an_empty_token_of_ours_matches_nobody() -> None:
    """A forgotten setting does not open the door to who sends no token."""
    assert answer_challenge(_verification(mode="subscribe", challenge="1", verify_token=""), "").status == 403
