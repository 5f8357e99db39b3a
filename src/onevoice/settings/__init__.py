"""What can be configured, with its defaults and bounds, and how it is read.

``load_settings`` reports every fault at once, one line each, and never repeats a secret.
"""

from __future__ import annotations

from onevoice.settings.channels import (
    CHANNEL_KINDS,
    AnyChannel,
    ChannelSettings,
    WebchatChannelSettings,
    WhatsAppChannelSettings,
)
from onevoice.settings.hours import Hours, parse_hours
from onevoice.settings.load import DEFAULT_FILE, load_settings
from onevoice.settings.media import MediaSettings, TranscriptionSettings
from onevoice.settings.root import Settings
from onevoice.settings.sections import (
    AgentSettings,
    BrokerSettings,
    DatabaseSettings,
    NotifySettings,
    OutboxSettings,
    PolicyAction,
    PolicySettings,
    RedisSettings,
    Section,
    ServerSettings,
    TriageSettings,
    TurnSettings,
)

__all__ = [
    "CHANNEL_KINDS",
    "DEFAULT_FILE",
    "AgentSettings",
    "AnyChannel",
    "BrokerSettings",
    "ChannelSettings",
    "DatabaseSettings",
    "Hours",
    "MediaSettings",
    "NotifySettings",
    "OutboxSettings",
    "PolicyAction",
    "PolicySettings",
    "RedisSettings",
    "Section",
    "ServerSettings",
    "Settings",
    "TranscriptionSettings",
    "TriageSettings",
    "TurnSettings",
    "WebchatChannelSettings",
    "WhatsAppChannelSettings",
    "load_settings",
    "parse_hours",
]
