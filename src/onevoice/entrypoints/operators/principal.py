"""Who calls: an operator of one account, with a role."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from onevoice.vocabulary import AccountId, OperatorId

DEFAULT_ACCOUNT: Final = AccountId("default")


class Role(StrEnum):
    """What a principal may do beyond reading its own account and holding its own conversations."""

    ADMIN = "admin"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An operator who has shown a token or a session; the automation is an operator too."""

    account: AccountId
    operator_id: OperatorId
    name: str
    role: Role

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN


class Authenticator(Protocol):
    """Knows tokens."""

    async def authenticate(self, token: str) -> Principal | None:
        """The principal of a token, or ``None``; compares in constant time."""
        ...
