"""The rows of configured channels: what a number was paused or slowed for outlives every process."""

from __future__ import annotations

from collections.abc import Sequence

from onevoice.store.database import Database
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ChannelName

SQL = load_statements(__package__)


async def register_channels(
    database: Database, channels: Sequence[tuple[AccountId, ChannelName, str]]
) -> None:
    """Give every configured channel (account, name, kind) its row; a pause it has stays."""
    await database.run(
        "register_channels",
        SQL["register_channels"],
        [account for account, _, _ in channels],
        [name for _, name, _ in channels],
        [kind for _, _, kind in channels],
    )
