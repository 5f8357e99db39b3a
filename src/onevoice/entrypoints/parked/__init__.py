"""Parked messages, for the command line."""

from __future__ import annotations

from onevoice.flow.authority.command import Actor
from onevoice.store.database import Database, Row
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId

__all__ = ["ADMIN", "list_parked"]

SQL = load_statements(__package__)

# Whoever may start a command on the server's machine and database may do what an admin may.
ADMIN = Actor(operator=None, is_admin=True)
_SHOWN_MAX = 1000


async def list_parked(database: Database, account: AccountId) -> list[Row]:
    """The oldest first: they have waited longest."""
    async with database.transaction("list_parked", account=account) as transaction:
        return await transaction.fetch(SQL["read_parked"], account, _SHOWN_MAX)
