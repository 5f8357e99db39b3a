"""Errors as OpenAI words them, and what each of them means."""

from __future__ import annotations

from onevoice.testing import ModelFault

OPENAI_FAULTS: dict[str, tuple[ModelFault, str, bool, float | None]] = {
    "rate": (
        ModelFault(
            status=429, type="requests", code="rate_limit_exceeded", headers={"retry-after-ms": "1500"}
        ),
        "provider_rate_limited",
        True,
        1.5,
    ),
    "spent": (
        ModelFault(status=429, type="insufficient_quota", code="insufficient_quota"),
        "provider_spend_limit",
        False,
        None,
    ),
    "server": (ModelFault(status=500, type="server_error"), "provider_unavailable", True, None),
    "overloaded": (
        ModelFault(status=503, type="server_error", message="The engine is currently overloaded"),
        "provider_overloaded",
        True,
        None,
    ),
    "key": (
        ModelFault(status=401, type="invalid_request_error", code="invalid_api_key"),
        "provider_key_refused",
        False,
        None,
    ),
    "model": (
        ModelFault(status=404, type="invalid_request_error", code="model_not_found"),
        "model_unknown",
        False,
        None,
    ),
    "long": (
        ModelFault(status=400, type="invalid_request_error", code="context_length_exceeded"),
        "context_too_long",
        False,
        None,
    ),
    "request": (ModelFault(status=400, type="invalid_request_error"), "provider_bad_request", False, None),
}
