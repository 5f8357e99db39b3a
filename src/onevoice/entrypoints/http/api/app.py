"""Puts the API's routes, errors and document together."""

from __future__ import annotations

from fastapi import FastAPI

from onevoice.entrypoints.http.api import conversations, events, health, outbound, stats, timeline
from onevoice.entrypoints.http.api.errors import install_error_handlers
from onevoice.entrypoints.http.api.services import ApiServices

_PREFIX = "/api/v1"


def create_api(services: ApiServices) -> FastAPI:
    """The application that serves /api/v1, /healthz, /readyz and /metrics."""
    api = FastAPI(
        title="onevoice",
        version="1",
        summary="Operator API: read conversations, see what was decided and why.",
        openapi_url=f"{_PREFIX}/openapi.json",
        # The pages would load their scripts from a third party.
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    api.state.services = services
    install_error_handlers(api)
    for router in (conversations.router, timeline.router, outbound.router, stats.router, events.router):
        api.include_router(router, prefix=_PREFIX)
    api.include_router(health.router)
    return api
