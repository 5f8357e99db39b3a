"""Puts the API's routes, errors and document together."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from onevoice.entrypoints.http.api import (
    authority,
    channels,
    conversations,
    effects,
    events,
    health,
    media,
    messages,
    notes,
    operators,
    outbound,
    outbound_commands,
    stats,
    timeline,
)
from onevoice.entrypoints.http.api.body_limit import BodyLimit
from onevoice.entrypoints.http.api.errors import install_error_handlers
from onevoice.entrypoints.http.api.schemas import Event
from onevoice.entrypoints.http.api.services import ApiServices

_PREFIX = "/api/v1"
ROUTERS = (
    conversations.router,
    timeline.router,
    authority.router,
    messages.router,
    media.router,
    notes.router,
    effects.router,
    outbound.router,
    outbound_commands.router,
    channels.router,
    operators.router,
    stats.router,
    events.router,
)


class OperatorApi(FastAPI):
    """The application, without the pages that would load their scripts from a third party."""

    def __init__(self) -> None:
        super().__init__(
            title="onevoice",
            version="1",
            summary="Operator API: what happens in the conversations, what was decided, and why.",
            openapi_url=f"{_PREFIX}/openapi.json",
            docs_url=None,
            redoc_url=None,
            generate_unique_id_function=lambda route: route.name,
        )
        install_error_handlers(self)
        self.add_middleware(BodyLimit)
        for router in ROUTERS:
            self.include_router(router, prefix=_PREFIX)
        self.include_router(health.router)

    def openapi(self) -> dict[str, Any]:
        """The document; a stream's events are in no JSON answer, so that their schema is added here."""
        document = super().openapi()
        document["components"]["schemas"].setdefault("Event", Event.model_json_schema())
        return document


def create_api(services: ApiServices) -> FastAPI:
    """The application that serves /api/v1, /healthz, /readyz and /metrics."""
    api = OperatorApi()
    api.state.services = services
    return api
