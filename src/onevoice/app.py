"""The composition root: the only file that names adapters. Settings in, a runtime out."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

import httpx2

from onevoice.adapters.agents.echo import EchoAgent
from onevoice.adapters.agents.http import HttpAgent
from onevoice.adapters.agents.module import load_agent
from onevoice.adapters.chance import SystemChance
from onevoice.adapters.channels.webchat import WebchatChannel
from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.channels.whatsapp.contact import alias_of
from onevoice.adapters.clock import SystemClock
from onevoice.adapters.media.guard import GuardedTransport, origin_of
from onevoice.adapters.media.store import open_bucket, open_folder
from onevoice.adapters.receiver import WebhookReceiver
from onevoice.adapters.small_pools import SmallPools
from onevoice.adapters.transcribers.module import load_transcriber
from onevoice.adapters.transcribers.openai_compatible import OpenAiTranscriber
from onevoice.adapters.transcribers.silence import SilenceFilter
from onevoice.adapters.triage.module import load_decider
from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.errors import ConfigurationError
from onevoice.flow.gate.policy import Rule
from onevoice.flow.runtime import Runtime
from onevoice.ports.agent import Agent
from onevoice.ports.channel import Channel
from onevoice.ports.clock import Clock
from onevoice.ports.media_store import MediaStore
from onevoice.ports.receiver import Receiver
from onevoice.ports.transcriber import Transcriber
from onevoice.ports.triage import Decider
from onevoice.ports.writes import WriteCall
from onevoice.settings import Settings
from onevoice.settings.channels import AnyChannel, WhatsAppChannelSettings
from onevoice.settings.sections import PolicyAction
from onevoice.store.address import database_address
from onevoice.store.channels import register_channels
from onevoice.store.database import Database
from onevoice.store.migrate import migrate
from onevoice.telemetry import Telemetry
from onevoice.vocabulary import ChannelName, TurnContext, Usage
from onevoice.write_tools import perform_write

__all__ = ["Application", "canonical_aliases", "open_application", "open_command", "open_database"]

# One client for everything that goes out: no retry, no redirect, every time-out set by the caller's deadline.
CONNECTIONS_MAX = 512


class Application:
    """A runtime with what the entry points need beside it."""

    def __init__(self, runtime: Runtime, api_database: Database) -> None:
        self.runtime = runtime
        self.api_database = api_database


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncGenerator[tuple[Database, str]]:
    """The migrated database of a configuration, under the flow's role, with its owner's address."""
    async with database_address(settings.database) as dsn:
        await migrate(dsn)
        database = await Database.open(dsn)
        try:
            yield database, dsn
        finally:
            await database.close()


@asynccontextmanager
async def open_application(settings: Settings) -> AsyncGenerator[Application]:
    """Everything one process needs, closed again in reverse order. Calls no channel and no agent."""
    clock = SystemClock()
    async with (
        open_database(settings) as (database, dsn),
        httpx2.AsyncClient(
            transport=SmallPools(connections_max=CONNECTIONS_MAX),
            timeout=httpx2.Timeout(30.0),
            follow_redirects=False,
            trust_env=False,
        ) as http,
        open_files_client(settings.channels) as files,
    ):
        channels = build_channels(settings.channels, http=http, files=files, clock=clock)
        await register_channels(
            database, [(channel.account, channel.name, channel.kind) for channel in channels.values()]
        )
        agent = build_agent(settings, http=http, clock=clock)
        telemetry = Telemetry()
        api_database = await Database.open(dsn, role="onevoice_api", connections_max=4)
        runtime = Runtime(
            database=database,
            clock=clock,
            chance=SystemChance(),
            wakeup=InProcessWakeup(clock),
            telemetry=telemetry,
            settings=settings,
            channels=channels,
            agent=agent,
            decider=build_decider(settings, telemetry),
            worker=f"{socket.gethostname()}:{os.getpid()}",
            media=build_media_store(settings),
            transcriber=build_transcriber(settings, http=http),
            receiver=build_receiver(settings, http=http),
            policies=build_policies(settings),
        )
        try:
            yield Application(runtime, api_database)
        finally:
            if runtime.transcriber is not None:
                await runtime.transcriber.close()
            await runtime.media.close()
            await agent.close()
            await api_database.close()


@asynccontextmanager
async def open_command(settings: Settings) -> AsyncGenerator[Runtime]:
    """A runtime for one command beside a running server: it loads no agent and no decider, and registers no channel.

    What it changes is found by the server's workers at their next look.
    """
    clock = SystemClock()
    async with (
        open_database(settings) as (database, _),
        httpx2.AsyncClient(follow_redirects=False, trust_env=False) as http,
        open_files_client(settings.channels) as files,
    ):
        yield Runtime(
            database=database,
            clock=clock,
            chance=SystemChance(),
            wakeup=InProcessWakeup(clock),
            telemetry=Telemetry(),
            settings=settings,
            channels=build_channels(settings.channels, http=http, files=files, clock=clock),
            agent=EchoAgent(),
            decider=_build_rules_decider(),
            worker=f"{socket.gethostname()}:{os.getpid()}",
            media=build_media_store(settings),
            receiver=build_receiver(settings, http=http),
            policies=build_policies(settings),
        )


def canonical_aliases(contact: str) -> tuple[str, ...]:
    """The keys under which any channel may know what somebody typed for a contact."""
    return (alias_of(contact), f"visitor:{contact}", contact)


@asynccontextmanager
async def open_files_client(settings: Sequence[AnyChannel]) -> AsyncGenerator[httpx2.AsyncClient]:
    """What fetches files from addresses that a platform names; only the stand-ins of ``graph_url`` may be private."""
    trusted = [
        origin_of(channel.graph_url) for channel in settings if isinstance(channel, WhatsAppChannelSettings)
    ]
    tls = httpx2.create_ssl_context(trust_env=False)
    async with (
        httpx2.AsyncHTTPTransport(verify=tls, trust_env=False) as plain,
        httpx2.AsyncClient(
            transport=GuardedTransport(plain=plain, trusted=trusted, tls=tls),
            follow_redirects=False,
            trust_env=False,
        ) as files,
    ):
        yield files


def build_channels(
    settings: Sequence[AnyChannel], *, http: httpx2.AsyncClient, files: httpx2.AsyncClient, clock: Clock
) -> Mapping[ChannelName, Channel]:
    return {
        channel.name: _build_channel(channel, http=http, files=files, clock=clock) for channel in settings
    }


def _build_channel(
    channel: AnyChannel, *, http: httpx2.AsyncClient, files: httpx2.AsyncClient, clock: Clock
) -> Channel:
    if isinstance(channel, WhatsAppChannelSettings):
        return WhatsAppChannel(
            name=channel.name,
            account=channel.account,
            phone_number_id=channel.phone_number_id,
            access_token=channel.access_token.get_secret_value(),
            app_secrets=tuple(secret.get_secret_value() for secret in channel.app_secret),
            verify_token=channel.verify_token.get_secret_value(),
            graph_url=channel.graph_url,
            http=http,
            files=files,
            monotonic=clock.monotonic,
            media_hosts=channel.media_hosts,
            typing_indicator=channel.typing_indicator,
        )
    return WebchatChannel(name=channel.name, account=channel.account, clock=clock)


def build_agent(settings: Settings, *, http: httpx2.AsyncClient, clock: Clock) -> Agent:
    use = settings.agent.use
    if use == "builtin:echo":
        return EchoAgent()
    if use == "builtin:demo":
        return _build_demo_agent(clock)
    if use.startswith(("http://", "https://")):
        return HttpAgent(
            url=use,
            secret=settings.agent.secret.get_secret_value() or None,
            timeout_seconds=settings.agent.timeout_seconds,
            http=http,
        )
    return load_agent(use, settings.folder, burst_instructions=settings.agent.burst_instructions)


def build_media_store(settings: Settings) -> MediaStore:
    """A bucket, else the folder beside the embedded database; ``ConfigurationError`` when that cannot be made."""
    media = settings.media
    if not media.url:
        folder = settings.database.data_dir.expanduser() / "media"
        try:
            return open_folder(folder)
        except OSError as error:
            raise ConfigurationError(
                [
                    f"database.data_dir: files cannot be kept in {folder} ({error.strerror}); make it a folder of this "
                    "user, or set media.url"
                ]
            ) from error
    return open_bucket(
        media.url,
        endpoint_url=media.endpoint_url or None,
        region=media.region or None,
        access_key_id=media.access_key_id.get_secret_value() or None,
        secret_access_key=media.secret_access_key.get_secret_value() or None,
    )


def build_transcriber(settings: Settings, *, http: httpx2.AsyncClient) -> Transcriber | None:
    """Whoever is configured, with silence kept away from the agent; ``None``: audios stay without words."""
    transcription = settings.transcription
    if transcription.use:
        return SilenceFilter(load_transcriber(transcription.use, settings.folder))
    if not transcription.url:
        return None
    return SilenceFilter(
        OpenAiTranscriber(
            url=transcription.url,
            model=transcription.model,
            api_key=transcription.api_key.get_secret_value(),
            language=transcription.language or None,
            http=http,
        )
    )


def build_receiver(settings: Settings, *, http: httpx2.AsyncClient) -> Receiver | None:
    url = settings.notify.url.get_secret_value()
    if not url:
        return None
    return WebhookReceiver(url=url, secret=settings.notify.secret.get_secret_value(), http=http)


def build_policies(settings: Settings) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            name=policy.name,
            pattern=re.compile(policy.match, re.IGNORECASE) if policy.match else None,
            hours=policy.parsed_hours,
            channels=policy.channels,
            suspends=policy.action is PolicyAction.SUSPEND,
            note=policy.note,
        )
        for policy in settings.policies
    )


def _build_demo_agent(clock: Clock) -> Agent:
    """The demo's bookings are real effects: each passes the gate, and the same booking again changes nothing."""
    from onevoice.adapters.agents.demo.agent import DemoAgent, contact_of

    async def write(context: TurnContext, tool: str, args: dict[str, object]) -> dict[str, object]:
        async def carry_out() -> object:
            return agent.book.write(contact_of(context), tool, args)

        result = await perform_write(WriteCall(tool=tool, args=args, retry_safe=True), carry_out)
        return cast("dict[str, object]", result)

    agent = DemoAgent(sleep=clock.sleep, write=write)
    return agent


def build_decider(settings: Settings, telemetry: Telemetry) -> Decider:
    use = settings.triage.use
    if use == "rules":
        return _build_rules_decider()
    if use == "llm":
        return _build_llm_decider(settings.triage.model, telemetry)
    return load_decider(use, settings.folder)


def _build_rules_decider() -> Decider:
    from onevoice.adapters.triage.rules import RulesDecider

    return RulesDecider()


def _build_llm_decider(model: str, telemetry: Telemetry) -> Decider:
    try:
        from onevoice.adapters.triage.llm import load_llm_decider
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            [
                f'triage.use: llm needs "{error.name}", which is not installed; pip install "onevoice[pydantic-ai]"'
            ]
        ) from error

    def count(usage: Usage) -> None:
        tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
        for kind, amount in tokens.items():
            telemetry.triage_tokens.labels(model=usage.model or model, kind=kind).inc(amount)

    return load_llm_decider(model, count=count)
