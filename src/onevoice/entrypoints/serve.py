"""``serve``: HTTP and workers in one process, from `ready` to a drained end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.routing import Router

from onevoice.app import Application, canonical_aliases, open_application
from onevoice.entrypoints.console import ConsoleServices, console_routes
from onevoice.entrypoints.http.api import ApiServices, create_api
from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.entrypoints.http.webchat import (
    WebchatPage,
    WebchatServices,
    load_visitor_secret,
    webchat_routes,
)
from onevoice.entrypoints.http.webhooks import PREFIX, WebhookDoor
from onevoice.entrypoints.operators import OperatorAuthenticator, Operators, Passwords, Sessions
from onevoice.entrypoints.worker import Worker
from onevoice.errors import AddressUnusable
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.inbound.perform import Received
from onevoice.settings import Settings
from onevoice.settings.channels import WebchatChannelSettings
from onevoice.telemetry import configure_logging
from onevoice.vocabulary import ChannelName

LOG = logging.getLogger("onevoice.serve")


class Site:
    """All HTTP of one process: webhooks as plain ASGI, the chat page, the console, and the API for everything else."""

    def __init__(self, application: Application, worker: Worker, *, api_token: str | None) -> None:
        runtime = application.runtime
        settings = runtime.settings
        self.accepting = True
        self._worker = worker
        self.intake = Intake(runtime)
        # The feed reads the journal of every account once, and hands each reader its own account's entries.
        self.feed = JournalFeed(runtime.database)
        passwords = Passwords()
        self.operators = Operators(
            runtime.database, clock=runtime.clock, chance=runtime.chance, passwords=passwords
        )
        self.sessions = Sessions(runtime.database, clock=runtime.clock, passwords=passwords)
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
                runtime=replace(runtime, database=application.api_database),
                clock=runtime.clock,
                telemetry=runtime.telemetry,
                authenticator=OperatorAuthenticator(
                    runtime.database, self.operators, environment_token=api_token
                ),
                feed=self.feed,
                canonical_aliases=canonical_aliases,
                accepting=lambda: self.accepting,
            )
        )
        self._chat = Router(routes=webchat_routes(self._webchat(application)))
        self._console = Router(routes=console_routes(self._console_services(application)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            await self._webhooks(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith("/chat/"):
            await self._chat(scope, receive, send)
        elif scope["type"] == "http" and (
            scope["path"] in ("/", "/console") or scope["path"].startswith("/console/")
        ):
            await self._console(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    def note_received(self, received: Sequence[Received]) -> None:
        """Tell live feeds and overtaken turns at once; nothing depends on it."""
        for result in received:
            if result.is_new and result.running_turn is not None:
                self._worker.note_overtaken(result.running_turn)
        if any(result.is_new for result in received):
            self.feed.nudge()

    def _console_services(self, application: Application) -> ConsoleServices:
        runtime = application.runtime
        return ConsoleServices(
            database=application.api_database,
            runtime=replace(runtime, database=application.api_database),
            sessions=self.sessions,
            feed=self.feed,
            canonical_aliases=canonical_aliases,
            public_url=runtime.settings.server.public_url,
        )

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
            media=runtime.media,
            public_url=runtime.settings.server.public_url,
        )


async def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    ready: Callable[[str], None],
    api_token: str | None = None,
    prepare: Callable[[Operators], Awaitable[None]] | None = None,
) -> int:
    """Run until SIGTERM or Ctrl-C, then drain; returns the exit status.

    ``ready`` is told the URL once traffic is accepted, after ``prepare``. ``api_token`` is an administrator's of
    the account ``default``.
    """
    configure_logging()
    stop = _stop_signal()
    async with open_application(settings) as application:
        worker = Worker(application.runtime)
        site = Site(application, worker, api_token=api_token)
        if prepare is not None:
            await prepare(site.operators)
        async with site.feed, _listening(site, host, port) as url:
            worker.start()
            ready(url)
            await stop.wait()
            LOG.info("stopping")
            site.accepting = False
            await site.feed.stop()
        # The listener is closed and every webhook answered: nothing new comes in while the rest is finished.
        await site.intake.drain()
        await worker.drain(min(settings.server.drain_seconds, settings.turns.lease_seconds))
    LOG.info("stopped")
    return 0


@contextlib.asynccontextmanager
async def _listening(site: Site, host: str, port: int) -> AsyncGenerator[str]:
    """Accept connections for as long as the block runs; yields the URL."""
    listener = _bind(host, port)
    config = uvicorn.Config(
        site,
        loop="none",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,
    )
    server = _Listener(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    try:
        await server.listening.wait()
        shown = host if host not in ("0.0.0.0", "::") else "127.0.0.1"  # noqa: S104 - Shown, not bound.
        yield f"http://{shown}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listener.close()


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise AddressUnusable(f"port {port} of {host} cannot be listened on: {error.strerror}") from None
    return listener


class _Listener(uvicorn.Server):
    """Says when it listens, and leaves signals to ``serve``."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
