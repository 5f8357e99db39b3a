"""Every error of the API has one form: a code, a sentence, and what belongs to the case.

No error repeats a value of the request: it may be a phone number or a token.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from onevoice.errors import DatabaseUnavailable, StatementInterrupted

__all__ = [
    "ApiError",
    "ErrorBody",
    "error_responses",
    "install_error_handlers",
    "streamed_error_responses",
]

LOG = logging.getLogger(__name__)

_CODES = {
    400: "invalid_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class ErrorBody(BaseModel):
    """What every error answers; some have more keys, which their call documents."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(description="A stable code.", examples=["not_found"])
    message: str = Field(description="A sentence: the thing, the cause, the next act.")


class ApiError(Exception):
    """An answer that is no success. ``extra`` are further keys of the body."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: object,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
        self.extra = extra


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the OpenAPI document."""
    return {
        status: {"model": ErrorBody, "description": HTTPStatus(status).phrase} for status in sorted(statuses)
    }


def streamed_error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for a route whose successful answer is no JSON: its errors are."""
    schema = {"$ref": "#/components/schemas/ErrorBody"}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": schema}},
        }
        for status in sorted(statuses)
    }


def install_error_handlers(api: FastAPI) -> None:
    """Give every error of the framework, of the database and of a fault in our code the one form."""
    api.add_exception_handler(ApiError, _answer_api_error)
    api.add_exception_handler(RequestValidationError, _answer_invalid_request)
    api.add_exception_handler(HTTPException, _answer_http_exception)
    api.add_exception_handler(DatabaseUnavailable, _answer_unavailable)
    api.add_exception_handler(StatementInterrupted, _answer_unavailable)
    api.add_exception_handler(Exception, _answer_fault)


def _body(
    status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None, **extra: object
) -> JSONResponse:
    return JSONResponse({"error": code, "message": message, **extra}, status_code=status, headers=headers)


def _answer_api_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)  # noqa: S101 - Registered for this class alone.
    return _body(error.status, error.code, error.message, headers=error.headers, **error.extra)


def _answer_invalid_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - Registered for this class alone.
    faults = [_describe_fault(fault) for fault in error.errors()]
    return _body(
        422,
        "invalid_request",
        "; ".join(f"{fault['field']}: {fault['message']}" for fault in faults),
        faults=faults,
    )


def _describe_fault(fault: Mapping[str, Any]) -> dict[str, str]:
    location: Sequence[object] = fault.get("loc", ())
    # The first element says where (query, path, body), the rest which field; in unreadable JSON, which byte.
    inside = () if fault.get("type") == "json_invalid" else location[1:]
    name = ".".join(str(part) for part in inside) or str(location[0] if location else "request")
    return {"field": name, "message": str(fault.get("msg", "is not valid"))}


def _answer_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - Registered for this class alone.
    status = error.status_code
    if status == 404:
        message = "There is nothing at this address; /api/v1/openapi.json lists every call."
    elif status == 405:
        message = f"This address has no {request.method}; the header Allow names what it has."
    elif status == 413:
        message = "The body is longer than any call needs; send a shorter one."
    else:
        message = f"The request cannot be served: {HTTPStatus(status).phrase.lower()}."
    return _body(status, _CODES.get(status, "refused"), message, headers=error.headers)


def _answer_unavailable(_: Request, error: Exception) -> JSONResponse:
    LOG.warning("api_database_unavailable", exc_info=error)
    return _body(
        503,
        "database_unavailable",
        "The database did not answer in time; nothing was changed. Try again.",
        headers={"Retry-After": "1"},
    )


def _answer_fault(request: Request, error: Exception) -> JSONResponse:
    route = getattr(request.scope.get("route"), "path", "unknown")
    LOG.error("api_fault", exc_info=error, extra={"route": route, "method": request.method})
    return _body(500, "internal_error", "onevoice failed at this call; its log has the place of the fault.")
