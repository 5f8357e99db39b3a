"""``serve``: HTTP and workers in one process, from `ready` to a drained end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import uvicorn
from starlette.routing import Router

from onevoice.app import Application, canonical_aliases, open_application
from onevoice.entrypoints.http.api import ApiServices, TokenAuthenticator, create_api
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.http.webchat import (
    WebchatPage,
    WebchatServices,
    load_visitor_secret,
    webchat_routes,
)
from onevoice.entrypoints.http.webhooks import PREFIX, WebhookDoor
from onevoice.entrypoints.worker import Worker
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.inbound.perform import Received
from onevoice.settings import Settings
from onevoice.settings.channels import WebchatChannelSettings
from onevoice.telemetry import configure_logging
from onevoice.vocabulary import ChannelName


class Site:
    """All HTTP of one process: webhooks as plain ASGI, the chat page, and the API for everything else."""

    def __init__(self, application: Application, worker: Worker) -> None:
        runtime = application.runtime
        settings = runtime.settings
        self.accepting = True
        self.intake = Intake(runtime)
        self.feed = JournalFeed(application.api_database)
        self._worker = worker
        self._webhooks = WebhookDoor(
            channels=runtime.channels,
            intake=self.intake,
            telemetry=runtime.telemetry,
            public_url=settings.server.public_url,
            on_received=self.note_received,
        )
        self._api = create_api(
            ApiServices(
                database=application.api_database,
                clock=runtime.clock,
                telemetry=runtime.telemetry,
                authenticator=TokenAuthenticator(os.environ.get("ONEVOICE_API_TOKEN")),
                feed=self.feed,
                canonical_aliases=canonical_aliases,
                accepting=lambda: self.accepting,
            )
        )
        self._chat = Router(routes=webchat_routes(self._webchat(application)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            await self._webhooks(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith("/chat/"):
            await self._chat(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    def note_received(self, received: Sequence[Received]) -> None:
        """Tell live feeds at once; nothing depends on it."""
        if any(result.is_new for result in received):
            self.feed.nudge()

    def _webchat(self, application: Application) -> WebchatServices:
        runtime = application.runtime
        pages = {
            channel.name: WebchatPage(
                channel=runtime.channels[channel.name],
                title=channel.title,
                greeting=channel.greeting,
                language=channel.language,
                allowed_origins=channel.allowed_origins,
                color=channel.color,
            )
            for channel in runtime.settings.channels
            if isinstance(channel, WebchatChannelSettings)
        }
        return WebchatServices(
            database=application.api_database,
            feed=self.feed,
            clock=runtime.clock,
            secret=load_visitor_secret(runtime.settings.database.data_dir) if pages else b"",
            find_page=lambda name: pages.get(ChannelName(name)),
            receive=self.intake.take,
            public_url=runtime.settings.server.public_url,
        )


async def serve(settings: Settings, *, host: str, port: int, ready: Callable[[str], None]) -> int:
    """Run until SIGTERM or Ctrl-C, then drain; ``ready`` is told the URL once traffic is accepted. The exit status."""
    configure_logging()
    async with open_application(settings) as application:
        worker = Worker(application.runtime)
        site = Site(application, worker)
        async with _listening(site, host, port) as (server, url), site.feed:
            stop = _stop_signal()
            worker.start()
            ready(url)
            await stop.wait()
            site.accepting = False
            drain_seconds = settings.server.drain_seconds
            await site.feed.stop()
            server.should_exit = True
            await worker.drain(min(drain_seconds, settings.turns.lease_seconds))
            await site.intake.drain()
    return 0


@contextlib.asynccontextmanager
async def _listening(site: Site, host: str, port: int) -> AsyncGenerator[tuple[uvicorn.Server, str]]:
    config = uvicorn.Config(
        site,
        host=host,
        port=port,
        loop="none",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,
    )
    server = _QuietServer(config)
    serving = asyncio.create_task(server.serve(), name="http")
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if serving.done():
            await serving
        bound = server.servers[0].sockets[0].getsockname()
        shown = host if host not in ("0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
        yield server, f"http://{shown}:{bound[1]}"
    finally:
        server.should_exit = True
        await serving


class _QuietServer(uvicorn.Server):
    """Leaves signals to ``serve``, which drains before the listener closes."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
