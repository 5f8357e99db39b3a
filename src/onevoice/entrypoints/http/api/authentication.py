"""Who calls: a bearer token becomes a principal with one account, maybe an operator, and a role."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from onevoice.entrypoints.http.api.errors import ApiError
from onevoice.vocabulary import AccountId, OperatorId

__all__ = ["Authenticator", "Caller", "Principal", "Role", "TokenAuthenticator"]

_DEFAULT_ACCOUNT = AccountId("default")


class Role(StrEnum):
    """What a principal may do beyond reading its own account."""

    ADMIN = "admin"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """``operator_id`` is ``None`` for automation: it may read and administer, but owns no conversation."""

    account: AccountId
    operator_id: OperatorId | None
    role: Role


class Authenticator(Protocol):
    """Knows tokens; several kinds may be asked in turn."""

    async def authenticate(self, token: str) -> Principal | None:
        """The principal of a token, or ``None``; compares in constant time."""
        ...


class TokenAuthenticator:
    """The one token of the environment (`ONEVOICE_API_TOKEN`): an administrator of one account."""

    def __init__(self, token: str | None, *, account: AccountId = _DEFAULT_ACCOUNT) -> None:
        self._digest = _digest(token) if token else None
        self._principal = Principal(account=account, operator_id=None, role=Role.ADMIN)

    async def authenticate(self, token: str) -> Principal | None:
        if self._digest is None or not hmac.compare_digest(self._digest, _digest(token)):
            return None
        return self._principal


def _digest(token: str) -> bytes:
    """Of equal length for every token, so that the comparison tells nothing about it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


_bearer = HTTPBearer(auto_error=False, description="A token of `onevoice operator add NAME --token`.")


async def _authenticate(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
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


Caller = Annotated[Principal, Depends(_authenticate)]
