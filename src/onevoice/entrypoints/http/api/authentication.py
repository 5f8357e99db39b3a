"""Who calls: a bearer token becomes a principal with one account, an operator, and a role."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from onevoice.entrypoints.http.api.errors import ApiError
from onevoice.entrypoints.operators.principal import Authenticator, Principal

__all__ = ["AdminCaller", "Caller", "authenticate"]

_bearer = HTTPBearer(auto_error=False, description="A token of `onevoice operator add NAME --token`.")


async def authenticate(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """The principal of the bearer token; 401 without one."""
    if credentials is None:
        raise ApiError(
            401,
            "unauthorized",
            "The call has no bearer token; send the header `Authorization: Bearer <token>`.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    authenticator = cast(Authenticator, request.app.state.services.authenticator)
    principal = await authenticator.authenticate(credentials.credentials)
    if principal is None:
        raise ApiError(
            401,
            "unauthorized",
            "The bearer token is not known; use ONEVOICE_API_TOKEN of the server's environment, or make a "
            "token with `onevoice operator add NAME --token`.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )
    return principal


Caller = Annotated[Principal, Depends(authenticate)]


def _require_admin(caller: Caller) -> Principal:
    if not caller.is_admin:
        raise ApiError(403, "role_too_small", "Only an admin may do this; ask one to do it.")
    return caller


AdminCaller = Annotated[Principal, Depends(_require_admin)]
