"""What a model provider's error means for the turn: again, later, or a human; the table of the provider's documents.

The libraries are recognised by the shape of their errors, so that none of them is imported here. What the provider
wrote is read to tell cases apart, and never shown: it may quote the customer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from onevoice.errors import AgentError, OnevoiceError, WriteRefused

RETRY_AFTER_SECONDS_MAX = 86_400.0
CAUSES_MAX = 8

_CONNECTION_ERRORS = frozenset(
    {"APIConnectionError", "ModelConnectionError", "RequestError", "TransportError", "ClientConnectionError"}
)
_REFUSALS = frozenset({"ContentFilterError", "ModelRefusalError"})
_SPENT = re.compile(
    r"enforced_spend_limit_reached|insufficient_quota|billing_error|credit balance|PerDay|check your plan and billing",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|model_context_window_exceeded|prompt is too long|maximum context length"
    r"|exceeds? the (maximum|context)|input token count|request_too_large|too many tokens",
    re.IGNORECASE,
)
_RETRY_DELAY = re.compile(r'"?retryDelay"?\'?: ?["\'](\d+(?:\.\d+)?)s["\']')


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFault:
    """An answer of a provider that was no answer. ``said`` is its body and message, to be searched only."""

    status: int
    said: str = ""
    retry_after_seconds: float | None = None


def classify(fault: ProviderFault) -> AgentError:
    """The reason, whether trying again can help, and when."""
    reason, retry, act = _judge(fault)
    return AgentError(
        reason,
        f"the model's provider answered {fault.status}: {act}",
        retry=retry,
        retry_after_seconds=fault.retry_after_seconds if retry else None,
    )


def agent_error(name: str, error: BaseException) -> AgentError:
    """What one exception out of a library means. ``name`` is the agent's."""
    for cause in _causes(error):
        if isinstance(cause, AgentError):
            return cause
        if isinstance(cause, WriteRefused):
            return AgentError("write_refused", str(cause))
        if _names(cause) & _REFUSALS:
            return refusal(name)
        fault = _read_fault(cause)
        if fault is not None:
            return classify(fault)
        if isinstance(cause, ConnectionError) or _names(cause) & _CONNECTION_ERRORS:
            return AgentError(
                "provider_unreachable",
                f"the model's provider cannot be reached ({type(cause).__name__}); the agent is asked again",
            )
    if isinstance(error, OnevoiceError):
        return AgentError("agent_failed", str(error))
    return AgentError(
        "agent_failed", f"the agent {name} raised {type(error).__name__}; see the cause's traceback"
    )


def refusal(name: str) -> AgentError:
    """The model, or its provider's filter, would not answer; the same question gets the same refusal."""
    return AgentError("model_refused", f"the model of {name} refused to answer; a human must", retry=False)


def _judge(fault: ProviderFault) -> tuple[str, bool, str]:
    status = fault.status
    if status == 402 or (status in (400, 403, 429) and _SPENT.search(fault.said)):
        return "provider_spend_limit", False, "the account's limit or credit is used up; raise it there"
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(fault.said)):
        return (
            "context_too_long",
            False,
            "the conversation is too long for the model; lower agent.history_messages",
        )
    if status == 429:
        return "provider_rate_limited", True, "it asks to slow down; the agent is asked again later"
    if status == 529 or (status == 503 and "overloaded" in fault.said.lower()):
        return "provider_overloaded", True, "it is overloaded; the agent is asked again"
    if status >= 500 or status in (408, 409, 425):
        return "provider_unavailable", True, "it failed; the agent is asked again"
    if status in (401, 403):
        return "provider_key_refused", False, "the key is wrong or lacks a permission; mend it"
    if status == 404:
        return "model_unknown", False, "the model does not exist, or not any more; name another"
    return "provider_bad_request", False, "the request is wrong; see the provider's log"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, exceptions of a group included, the outermost first."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < CAUSES_MAX:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting += cast("tuple[BaseException, ...]", current.exceptions)
        waiting += [cause for cause in (current.__cause__, current.__context__) if cause is not None]


def _read_fault(error: BaseException) -> ProviderFault | None:
    status = _number(error, "status_code")
    if status is None and hasattr(error, "details"):
        # Google's. Others have a `code` as well, such as the HTTP errors of a tool's own calls.
        status = _number(error, "code")
    if status is None or not 400 <= status <= 599:
        return None
    said = " ".join(
        repr(getattr(error, name)) for name in ("body", "details", "message") if hasattr(error, name)
    )
    return ProviderFault(status=status, said=said, retry_after_seconds=_retry_after(error, said))


def _number(error: BaseException, name: str) -> int | None:
    value: object = getattr(error, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _retry_after(error: BaseException, said: str) -> float | None:
    headers: object = getattr(error, "headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    if isinstance(headers, Mapping):
        given = cast("Mapping[str, str]", headers)
        for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
            seconds = _seconds(given.get(name), unit)
            if seconds is not None:
                return seconds
    delay = _RETRY_DELAY.search(said)
    return None if delay is None else _seconds(delay[1], 1.0)


def _seconds(given: str | None, unit: float) -> float | None:
    if given is None or not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", given.strip()):
        return None
    return min(float(given) / unit, RETRY_AFTER_SECONDS_MAX)


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
