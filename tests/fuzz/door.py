"""The product's own webhook door over one WhatsApp channel, in this process."""

from __future__ import annotations

from typing import Any

import httpx2

from onevoice.adapters.channels.whatsapp.channel import WhatsAppChannel
from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.entrypoints.http.webhooks import WebhookDoor
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.runtime import Runtime
from onevoice.settings import Settings
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from onevoice.testing import CountingChance, ManualClock, MemoryMediaStore, ScriptedAgent, ScriptedDecider
from onevoice.vocabulary import AccountId, ChannelName
from tests.wire.whatsapp.wire import ROUTE, SECRET


def _nobody(_: Any) -> None:
    """Nobody waits for what was received."""


def open_door(database: Database, http: httpx2.AsyncClient) -> WebhookDoor:
    clock = ManualClock()
    channel = WhatsAppChannel(
        name=ChannelName("loja"),
        account=AccountId("default"),
        phone_number_id=ROUTE,
        access_token="unused",
        app_secrets=(SECRET,),
        verify_token="unused",
        graph_url="http://127.0.0.1:9/v23.0",
        http=http,
        files=http,
        monotonic=clock.monotonic,
    )
    telemetry = Telemetry()
    runtime = Runtime(
        database=database,
        clock=clock,
        chance=CountingChance(series=0xF022),
        wakeup=InProcessWakeup(clock),
        telemetry=telemetry,
        settings=Settings(),
        channels={channel.name: channel},
        agent=ScriptedAgent(),
        decider=ScriptedDecider(),
        worker="fuzz",
        media=MemoryMediaStore(),
    )
    return WebhookDoor(
        channels=runtime.channels,
        intake=Intake(runtime),
        telemetry=telemetry,
        public_url="",
        on_received=_nobody,
    )
