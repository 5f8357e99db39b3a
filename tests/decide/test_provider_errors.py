"""What a provider's error means, whatever library it came through."""

from __future__ import annotations

from email.message import Message
from urllib.error import HTTPError

import pytest

from onevoice.adapters.agents.provider_error import ProviderFault, agent_error, classify
from onevoice.errors import AgentError, WriteOutsideTurn, WriteRefused


class StatusError(Exception):
    """An error in the shape the SDKs share: a status, a body, headers at the error or at its response."""

    def __init__(self, status: object, *, body: object = None, headers: dict[str, str] | None = None) -> None:
        super().__init__("the customer said: segredo")
        self.status_code = status
        self.body = body
        self.headers = headers


class CodeError(Exception):
    """The shape of Google's errors."""

    def __init__(self, code: object, details: object = None) -> None:
        super().__init__("boom")
        self.code = code
        self.details = details


class APIConnectionError(Exception):
    """A connection that failed, by the name the SDKs give it."""


def meaning(error: BaseException) -> tuple[str, bool, float | None]:
    found = agent_error("bot:agent", error)
    assert "segredo" not in str(found)
    return found.reason, found.retry, found.retry_after_seconds


@pytest.mark.parametrize(
    ("status", "said", "reason", "retry"),
    [
        (400, "", "provider_bad_request", False),
        (400, "prompt is too long: 9 tokens > 8", "context_too_long", False),
        (400, "Your credit balance is too low", "provider_spend_limit", False),
        (401, "", "provider_key_refused", False),
        (402, "", "provider_spend_limit", False),
        (403, "", "provider_key_refused", False),
        (404, "", "model_unknown", False),
        (408, "", "provider_unavailable", True),
        (409, "", "provider_unavailable", True),
        (413, "", "context_too_long", False),
        (422, "maximum context length is 8", "context_too_long", False),
        (429, "", "provider_rate_limited", True),
        (429, "enforced_spend_limit_reached", "provider_spend_limit", False),
        (429, "insufficient_quota", "provider_spend_limit", False),
        (500, "", "provider_unavailable", True),
        (503, "", "provider_unavailable", True),
        (503, "The model is OVERLOADED", "provider_overloaded", True),
        (504, "", "provider_unavailable", True),
        (529, "", "provider_overloaded", True),
    ],
)
def test_the_table_of_statuses(status: int, said: str, reason: str, retry: bool) -> None:
    """Each status, and where its text tells two cases apart, is one reason."""
    error = classify(ProviderFault(status=status, said=said, retry_after_seconds=3.0))

    assert (error.reason, error.retry) == (reason, retry)
    assert error.retry_after_seconds == (3.0 if retry else None)
    assert str(status) in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "999999999"}, 86_400.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_the_providers_own_wait(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds and milliseconds are taken, within a day; anything else means back-off."""
    assert meaning(StatusError(429, headers=headers)) == ("provider_rate_limited", True, seconds)


def test_googles_wait_stands_in_the_body() -> None:
    """A RetryInfo in the details is as good as a header."""
    details = {"error": {"details": [{"@type": "RetryInfo", "retryDelay": "17s"}]}}

    assert meaning(CodeError(429, details)) == ("provider_rate_limited", True, 17.0)


def test_the_cause_is_found_behind_a_librarys_own_error() -> None:
    """Wrapped, raised while another was handled, or one of a group."""
    wrapped = RuntimeError("run failed")
    wrapped.__cause__ = StatusError(529)
    handled = RuntimeError("run failed")
    handled.__context__ = StatusError(401)
    grouped = ExceptionGroup("tools", [KeyError("x"), WriteRefused("newer_message")])

    assert meaning(wrapped) == ("provider_overloaded", True, None)
    assert meaning(handled) == ("provider_key_refused", False, None)
    assert meaning(grouped)[0] == "write_refused"


def test_errors_that_are_no_providers() -> None:
    """A connection, an error of onevoice, one that names its reason already, and anything else."""
    loop = KeyError("o segredo")
    loop.__cause__ = loop

    assert meaning(APIConnectionError()) == ("provider_unreachable", True, None)
    assert meaning(ConnectionResetError()) == ("provider_unreachable", True, None)
    assert meaning(AgentError("own_reason", retry=False)) == ("own_reason", False, None)
    assert meaning(WriteOutsideTurn("book: no turn")) == ("agent_failed", True, None)
    assert meaning(loop) == ("agent_failed", True, None)
    assert meaning(StatusError(True)) == ("agent_failed", True, None)
    assert meaning(StatusError(200)) == ("agent_failed", True, None)
    assert meaning(HTTPError("http://shop", 404, "gone", Message(), None)) == ("agent_failed", True, None)
    assert meaning(CodeError("429")) == ("agent_failed", True, None)
