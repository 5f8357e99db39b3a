"""Probes: is the process up, can it accept and store, what does it count. They need no token and tell nothing
about an account but the names of channels."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from onevoice.entrypoints.http.api.schemas import Health, Readiness
from onevoice.entrypoints.http.api.services import ApiServices, Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.errors import DatabaseUnavailable, StatementFailed
from onevoice.store.migrate import load_migrations

router = APIRouter(tags=["probes"])

_NEWEST = load_migrations()[-1]


@router.get("/healthz")
async def get_health() -> Health:
    """The process is up; says nothing about the database."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready; `reason` says why."}})
async def get_readiness(services: Services, response: Response) -> Readiness:
    """The process can accept and store: database reachable, schema current, not stopping."""
    reason = await _find_fault(services)
    if reason is not None:
        response.status_code = 503
        return Readiness(status="not_ready", reason=reason)
    return Readiness(status="ready", reason=None)


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "docs/metrics.md", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def get_metrics(services: Services) -> Response:
    """The metrics in the Prometheus text format."""
    return Response(services.telemetry.render(), media_type=CONTENT_TYPE_PLAIN_0_0_4)


async def _find_fault(services: ApiServices) -> str | None:
    if not services.accepting():
        return "stopping"
    try:
        async with services.database.transaction("ready") as transaction:
            rows = await transaction.fetch(SQL["migrations_from"], _NEWEST.number)
    except DatabaseUnavailable:
        return "database_unavailable"
    except StatementFailed:
        return "schema_missing"
    names = [row["name"] for row in rows]
    if not names or names[0] != _NEWEST.name:
        return "schema_behind"
    if any("_contract_" in name for name in names[1:]):
        return "schema_too_new"
    return None
