"""What every step is given: the store, the ports and the settings. Built once, by the composition root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onevoice.flow.effect.begun import BegunWrites
from onevoice.flow.gate.policy import Rule
from onevoice.ports.agent import Agent
from onevoice.ports.chance import Chance
from onevoice.ports.channel import Channel
from onevoice.ports.clock import Clock
from onevoice.ports.media_store import MediaStore
from onevoice.ports.receiver import Receiver
from onevoice.ports.transcriber import Transcriber
from onevoice.ports.triage import Decider
from onevoice.ports.wakeup import Wakeup
from onevoice.settings import Settings
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from onevoice.vocabulary import ChannelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """``worker`` names this process in turns and journal; ``receiver`` is told what only a human can resolve.

    Without a ``transcriber`` no turn waits for the words of an audio.
    """

    database: Database
    clock: Clock
    chance: Chance
    wakeup: Wakeup
    telemetry: Telemetry
    settings: Settings
    channels: Mapping[ChannelName, Channel]
    agent: Agent
    decider: Decider
    worker: str
    media: MediaStore
    receiver: Receiver | None = None
    transcriber: Transcriber | None = None
    policies: Sequence[Rule] = ()
    begun_writes: BegunWrites = field(default_factory=BegunWrites)
