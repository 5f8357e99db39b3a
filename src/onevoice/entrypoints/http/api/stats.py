"""The metrics as JSON, for whoever has no Prometheus."""

from __future__ import annotations

from fastapi import APIRouter

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.schemas import Stats
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.telemetry import Distribution, Series

router = APIRouter(tags=["stats"])


@router.get("/stats", responses=error_responses(401, 503))
async def get_stats(caller: Caller, services: Services) -> Stats:
    """Counts since this process started. A series that names a channel shows only the caller's channels."""
    async with services.database.transaction("get_stats", account=caller.account) as transaction:
        rows = await transaction.fetch(SQL["channels_of_account"], caller.account)
    channels = {row["name"] for row in rows}
    figures = services.telemetry.as_json()
    return Stats.model_validate({name: _visible(value, channels) for name, value in figures.items()})


def _visible(
    value: float | Distribution | list[Series], channels: set[str]
) -> float | Distribution | list[Series]:
    if not isinstance(value, list):
        return value
    return [
        series
        for series in value
        if "channel" not in series["labels"] or series["labels"]["channel"] in channels
    ]
