"""The account's channels, and the end of a pause."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from onevoice.entrypoints.http.api.authentication import AdminCaller, Caller
from onevoice.entrypoints.http.api.errors import ApiError, error_responses
from onevoice.entrypoints.http.api.schemas import Channel, ChannelAnswer, ChannelPage, Pause
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.ports.wakeup import Work
from onevoice.store.database import Row, Transaction
from onevoice.vocabulary import AccountId

router = APIRouter(tags=["channels"])

ChannelPath = Annotated[str, Path(description="The channel's name.", max_length=200, pattern=r"^[^\x00]*$")]


@router.get("/channels", responses=error_responses(401, 503))
async def list_channels(caller: Caller, services: Services) -> ChannelPage:
    """The channels of the account, with what stops or slows them."""
    async with services.database.transaction("list_channels", account=caller.account) as transaction:
        channels = await _read(services, transaction, caller.account)
    return ChannelPage(items=channels, next_cursor=None)


@router.post("/channels/{name}/resume", responses=error_responses(401, 403, 404, 422, 503))
async def resume_channel(name: ChannelPath, caller: AdminCaller, services: Services) -> ChannelAnswer:
    """Lift a pause, once its cause is mended: what waits on the number leaves. Admins only."""
    async with services.database.transaction("resume_channel", account=caller.account) as transaction:
        await transaction.execute(
            SQL["lift_pause"], services.clock.now(), caller.account, name, caller.operator_id
        )
        channels = await _read(services, transaction, caller.account)
    found = [channel for channel in channels if channel.name == name]
    if not found:
        raise ApiError(
            404, "channel_unknown", "There is no such channel; GET /api/v1/channels lists those you can see."
        )
    services.runtime.wakeup.nudge(Work.OUTBOX, in_seconds=0.0)
    services.feed.nudge()
    return ChannelAnswer(channel=found[0])


async def _read(services: Services, transaction: Transaction, account: AccountId) -> list[Channel]:
    rows = await transaction.fetch(SQL["read_channels"], account, services.clock.now())
    return [_channel(row) for row in rows]


def _channel(row: Row) -> Channel:
    paused = None
    if row["paused_at"] is not None:
        paused = Pause(reason=row["paused_reason"], since=row["paused_at"])
    return Channel(name=row["name"], kind=row["kind"], paused=paused, slow_until=row["slow_until"])
