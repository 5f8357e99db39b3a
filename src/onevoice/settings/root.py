"""The whole configuration as one frozen value, and the rules that span its sections."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, cast

from pydantic import Field, PrivateAttr, model_validator

from onevoice.settings.channels import AnyChannel
from onevoice.settings.forms import faults_of_keys, nearest
from onevoice.settings.media import MediaSettings, TranscriptionSettings
from onevoice.settings.sections import (
    AgentSettings,
    BrokerSettings,
    DatabaseSettings,
    HandoffSettings,
    NotifySettings,
    OutboxSettings,
    PolicySettings,
    RedisSettings,
    Section,
    ServerSettings,
    TriageSettings,
    TurnSettings,
)


class Settings(Section):
    """Everything ``onevoice.toml`` can say."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    turns: TurnSettings = Field(default_factory=TurnSettings)
    outbox: OutboxSettings = Field(default_factory=OutboxSettings)
    triage: TriageSettings = Field(default_factory=TriageSettings)
    agent: AgentSettings = Field(default_factory=AgentSettings)
    media: MediaSettings = Field(default_factory=MediaSettings)
    transcription: TranscriptionSettings = Field(default_factory=TranscriptionSettings)
    handoff: HandoffSettings = Field(default_factory=HandoffSettings)
    broker: BrokerSettings = Field(default_factory=BrokerSettings)
    redis: RedisSettings = Field(default_factory=RedisSettings)
    channels: tuple[AnyChannel, ...] = Field(default=(), max_length=1000)
    policies: tuple[PolicySettings, ...] = Field(default=(), max_length=1000)
    notify: NotifySettings = Field(default_factory=NotifySettings)
    _folder: Path = PrivateAttr(default=Path())

    @property
    def folder(self) -> Path:
        """The configuration file's folder, first on the path for "module:attribute"."""
        return self._folder

    def located_in(self, folder: Path) -> Settings:
        """The same settings, read from a file in ``folder``."""
        copy = self.model_copy()
        copy._folder = folder
        return copy

    def version(self) -> str:
        """A short hash of the effective configuration without its secrets; each turn records it."""
        # A secret dumps as stars, so rotating one is no new version while adding or removing one is.
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    @model_validator(mode="after")
    def _lists_agree(self) -> Self:
        channels = [channel.model_dump(mode="json") for channel in self.channels]
        policies = [policy.model_dump(mode="json") for policy in self.policies]
        if found := list_faults(channels, policies):
            raise faults_of_keys(found)
        return self


def list_faults(channels: object, policies: object) -> list[tuple[str, str]]:
    """What is wrong between the entries of the lists, raw ones too, so that all faults show at once."""
    channel_tables, policy_tables = _tables(channels), _tables(policies)
    whatsapp = [(index, table) for index, table in channel_tables if table.get("kind") == "whatsapp"]
    return [
        *_repeated("channels", "name", channel_tables),
        *_repeated("channels", "phone_number_id", whatsapp),
        *_repeated("policies", "name", policy_tables),
        *_unknown_channels(policy_tables, [table.get("name") for _, table in channel_tables]),
    ]


def _tables(entries: object) -> list[tuple[int, Mapping[str, Any]]]:
    if not isinstance(entries, list | tuple):
        return []
    listed = cast("list[object]", entries)
    return [
        (index, cast("Mapping[str, Any]", entry))
        for index, entry in enumerate(listed)
        if isinstance(entry, Mapping)
    ]


def _repeated(
    section: str, key: str, tables: Iterable[tuple[int, Mapping[str, Any]]]
) -> list[tuple[str, str]]:
    first: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for index, table in tables:
        value = table.get(key)
        if not isinstance(value, str):
            continue
        if value in first:
            text = f"is the same as {section}[{first[value]}].{key}; each entry needs its own"
            found.append((f"{section}[{index}].{key}", text))
        first.setdefault(value, index)
    return found


def _unknown_channels(
    policies: Iterable[tuple[int, Mapping[str, Any]]], names: list[object]
) -> list[tuple[str, str]]:
    known = [name for name in names if isinstance(name, str)]
    found: list[tuple[str, str]] = []
    for index, policy in policies:
        listed = policy.get("channels")
        for position, name in enumerate(cast("list[object]", listed) if isinstance(listed, list) else []):
            if isinstance(name, str) and name not in known:
                right = f"did you mean {nearest(name, known)}?" if known else "add it under [[channels]]"
                found.append((f"policies[{index}].channels[{position}]", f"names no channel; {right}"))
    return found
