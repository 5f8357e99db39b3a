"""Operators of an account: add, list, disable, give a password or a token."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from onevoice.entrypoints.operators.passwords import Passwords
from onevoice.entrypoints.operators.principal import Role
from onevoice.entrypoints.operators.secret import digest, new_token
from onevoice.entrypoints.operators.statements import SQL
from onevoice.errors import OperatorExists, OperatorNameUnusable, OperatorUnknown
from onevoice.ports.chance import Chance
from onevoice.ports.clock import Clock
from onevoice.store.database import Database, Row
from onevoice.vocabulary import AccountId, OperatorId

__all__ = ["AUTOMATION", "Operator", "OperatorSummary", "Operators"]

# The operator that ONEVOICE_API_TOKEN acts as; made at its first call.
AUTOMATION: Final = "automation"
_NAME_CHARS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator, without any secret."""

    id: OperatorId
    account: AccountId
    name: str
    role: Role
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSummary:
    """An operator in a list, with how many tokens work and how many conversations they hold."""

    operator: Operator
    token_count: int
    conversation_count: int


class Operators:
    """``database`` is open under the flow role: it works across accounts, as the command line does."""

    def __init__(self, database: Database, *, clock: Clock, chance: Chance, passwords: Passwords) -> None:
        self._database = database
        self._clock = clock
        self._chance = chance
        self._passwords = passwords

    async def add(
        self, account: AccountId, name: str, *, role: Role, password: str | None = None
    ) -> Operator:
        """Add one; without a password they have only the tokens they are given."""
        checked = check_name(name)
        if checked == AUTOMATION:
            raise OperatorNameUnusable(
                f"the name {AUTOMATION} belongs to whoever calls with ONEVOICE_API_TOKEN; choose another"
            )
        hashed = None if password is None else await self._passwords.hash(password)
        operator = await self._insert(account, checked, role=role, password_hash=hashed)
        if operator is None:
            raise OperatorExists(f"account {account} has an operator {checked} already; choose another name")
        return operator

    async def automation(self, account: AccountId) -> Operator:
        """The operator of ONEVOICE_API_TOKEN: a row like any other, so that it can own conversations."""
        found = await self._find(account, AUTOMATION)
        if found is None:
            found = await self._insert(account, AUTOMATION, role=Role.ADMIN, password_hash=None)
        # Somebody else's first call was quicker.
        return found or await self.find(account, AUTOMATION)

    async def find(self, account: AccountId, name: str) -> Operator:
        operator = await self._find(account, unicodedata.normalize("NFC", name))
        if operator is None:
            raise OperatorUnknown(
                f"account {account} has no operator {name}; `onevoice operator list` shows who there is"
            )
        return operator

    async def list(self, account: AccountId | None) -> list[OperatorSummary]:
        """All of an account, or of every account, by name."""
        rows = await self._database.run("list_operators", SQL["read_operators"], account)
        return [
            OperatorSummary(
                operator=_operator(row),
                token_count=row["token_count"],
                conversation_count=row["conversation_count"],
            )
            for row in rows
        ]

    async def has_password(self, operator: Operator, password: str) -> bool:
        rows = await self._database.run(
            "check_password", SQL["read_operator_by_name"], operator.account, operator.name
        )
        return await self._passwords.matches(password, rows[0]["password_hash"] if rows else None)

    async def set_password(self, operator: Operator, password: str) -> None:
        """Give a new password; whoever is signed in with the old one is signed out."""
        hashed = await self._passwords.hash(password)
        async with self._database.transaction("set_password") as transaction:
            await transaction.execute(SQL["set_password"], operator.account, operator.id, hashed)
            await transaction.execute(SQL["end_sessions"], operator.account, operator.id)

    async def give_token(self, operator: Operator, *, revokes_others: bool = False) -> str:
        """A new API token, for this one look."""
        token = new_token()
        now = self._clock.now()
        async with self._database.transaction("give_token") as transaction:
            if revokes_others:
                await transaction.execute(SQL["revoke_tokens"], now, operator.account, operator.id)
            await transaction.execute(SQL["add_token"], now, operator.account, operator.id, digest(token))
        return token

    async def disable(self, operator: Operator) -> None:
        """From the commit on, no token and no session of theirs is accepted. What they hold stays theirs."""
        now = self._clock.now()
        async with self._database.transaction("disable_operator") as transaction:
            await transaction.execute(SQL["disable_operator"], now, operator.account, operator.id)
            await transaction.execute(SQL["revoke_tokens"], now, operator.account, operator.id)
            await transaction.execute(SQL["end_sessions"], operator.account, operator.id)

    async def enable(self, operator: Operator) -> None:
        """The password works again; tokens have to be made anew."""
        await self._database.run("enable_operator", SQL["enable_operator"], operator.account, operator.id)

    async def _find(self, account: AccountId, name: str) -> Operator | None:
        rows = await self._database.run("find_operator", SQL["read_operator_by_name"], account, name)
        return _operator(rows[0]) if rows else None

    async def _insert(
        self, account: AccountId, name: str, *, role: Role, password_hash: str | None
    ) -> Operator | None:
        rows = await self._database.run(
            "add_operator",
            SQL["add_operator"],
            self._clock.now(),
            account,
            self._chance.new_id(),
            name,
            role.value,
            password_hash,
        )
        return _operator(rows[0]) if rows else None


def check_name(name: str) -> str:
    """A name that a person can read, type and tell from an id."""
    normal = unicodedata.normalize("NFC", name)
    if not normal or normal != normal.strip() or not normal.isprintable() or len(normal) > _NAME_CHARS_MAX:
        raise OperatorNameUnusable(
            f"an operator's name has 1 to {_NAME_CHARS_MAX} printable characters and no space at its ends"
        )
    if _is_id(normal):
        raise OperatorNameUnusable("an operator's name must not look like an id: lists take either")
    return normal


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _operator(row: Row) -> Operator:
    return Operator(
        id=row["id"],
        account=row["account_id"],
        name=row["name"],
        role=Role(row["role"]),
        has_password=row["has_password"],
        created_at=row["created_at"],
        disabled_at=row["disabled_at"],
    )
