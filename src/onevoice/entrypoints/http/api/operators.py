"""To whom a conversation can be given."""

from __future__ import annotations

from fastapi import APIRouter

from onevoice.entrypoints.http.api.authentication import Caller
from onevoice.entrypoints.http.api.errors import error_responses
from onevoice.entrypoints.http.api.schemas import OperatorEntry, OperatorPage
from onevoice.entrypoints.http.api.services import Services
from onevoice.entrypoints.http.api.statements import SQL

router = APIRouter(tags=["operators"])


@router.get("/operators", responses=error_responses(401, 503))
async def list_operators(caller: Caller, services: Services) -> OperatorPage:
    """The operators of the account who are not disabled, the automation among them once it has called."""
    async with services.database.transaction("list_operators", account=caller.account) as transaction:
        rows = await transaction.fetch(SQL["list_operators"], caller.account)
    operators = [OperatorEntry(id=row["id"], name=row["name"], role=row["role"]) for row in rows]
    return OperatorPage(items=operators, next_cursor=None)
