"""A bearer token becomes a principal: the environment's token, or one of the table."""

from __future__ import annotations

import hmac

from onevoice.entrypoints.operators.accounts import Operators
from onevoice.entrypoints.operators.principal import DEFAULT_ACCOUNT, Principal, Role
from onevoice.entrypoints.operators.secret import digest, is_token
from onevoice.entrypoints.operators.statements import SQL
from onevoice.store.database import Database
from onevoice.vocabulary import AccountId

__all__ = ["OperatorAuthenticator"]


class OperatorAuthenticator:
    """Asks the table at each call: one look-up by key, so that a disabled operator is refused at once.

    ``database`` is the flow role's: the account is not known before the row is read, and nothing but the row
    decides it. ``environment_token`` is ONEVOICE_API_TOKEN, an administrator of one account.
    """

    def __init__(
        self,
        database: Database,
        operators: Operators,
        *,
        environment_token: str | None,
        account: AccountId = DEFAULT_ACCOUNT,
    ) -> None:
        self._database = database
        self._operators = operators
        self._environment_digest = digest(environment_token) if environment_token else None
        self._account = account

    async def authenticate(self, token: str) -> Principal | None:
        shown = digest(token)
        if self._environment_digest is not None and hmac.compare_digest(self._environment_digest, shown):
            return await self._automation()
        if not is_token(token):
            return None
        rows = await self._database.run("authenticate", SQL["read_token"], shown)
        if not rows or not hmac.compare_digest(rows[0]["token_hash"], shown):
            return None
        row = rows[0]
        return Principal(
            account=row["account_id"],
            operator_id=row["operator_id"],
            name=row["name"],
            role=Role(row["role"]),
        )

    async def _automation(self) -> Principal | None:
        operator = await self._operators.automation(self._account)
        if operator.disabled_at is not None:
            return None
        return Principal(
            account=operator.account, operator_id=operator.id, name=operator.name, role=operator.role
        )
