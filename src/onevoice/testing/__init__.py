"""Doubles for tests of onevoice and of adapters made elsewhere; each one passes its port's contract.

Names are loaded when they are used, so that a double never pulls in what another one needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onevoice.testing.agent_server import AgentAnswer, AgentRequest, LoopbackAgent
    from onevoice.testing.counting_chance import CountingChance
    from onevoice.testing.gate import CallCount, Gate
    from onevoice.testing.graph_media import MediaAnswer
    from onevoice.testing.graph_server import GraphRequest, LoopbackGraph
    from onevoice.testing.manual_clock import ManualClock, settle
    from onevoice.testing.memory_media_store import MemoryMediaStore
    from onevoice.testing.model_server import LoopbackModel, ModelFault, ToolCall
    from onevoice.testing.network_guard import OutsideConnection, loopback_only
    from onevoice.testing.recording_channel import RecordingChannel
    from onevoice.testing.recording_write_gate import RecordingWriteGate
    from onevoice.testing.scripted_agent import ScriptedAgent
    from onevoice.testing.scripted_decider import ScriptedDecider
    from onevoice.testing.scripted_transcriber import ScriptedTranscriber
    from onevoice.testing.transcription_server import LoopbackTranscription, TranscriptionFault
    from onevoice.testing.turn_context import make_turn_context

__all__ = [
    "AgentAnswer",
    "AgentRequest",
    "CallCount",
    "CountingChance",
    "Gate",
    "GraphRequest",
    "LoopbackAgent",
    "LoopbackGraph",
    "LoopbackModel",
    "LoopbackTranscription",
    "ManualClock",
    "MediaAnswer",
    "MemoryMediaStore",
    "ModelFault",
    "OutsideConnection",
    "RecordingChannel",
    "RecordingWriteGate",
    "ScriptedAgent",
    "ScriptedDecider",
    "ScriptedTranscriber",
    "ToolCall",
    "TranscriptionFault",
    "loopback_only",
    "make_turn_context",
    "settle",
]

_MODULE_OF = {
    "AgentAnswer": "agent_server",
    "AgentRequest": "agent_server",
    "CallCount": "gate",
    "CountingChance": "counting_chance",
    "Gate": "gate",
    "GraphRequest": "graph_server",
    "LoopbackAgent": "agent_server",
    "LoopbackGraph": "graph_server",
    "LoopbackModel": "model_server",
    "LoopbackTranscription": "transcription_server",
    "ManualClock": "manual_clock",
    "MediaAnswer": "graph_media",
    "MemoryMediaStore": "memory_media_store",
    "ModelFault": "model_server",
    "OutsideConnection": "network_guard",
    "RecordingChannel": "recording_channel",
    "RecordingWriteGate": "recording_write_gate",
    "ScriptedAgent": "scripted_agent",
    "ScriptedDecider": "scripted_decider",
    "ScriptedTranscriber": "scripted_transcriber",
    "ToolCall": "model_server",
    "TranscriptionFault": "transcription_server",
    "loopback_only": "network_guard",
    "make_turn_context": "turn_context",
    "settle": "manual_clock",
}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"onevoice.testing has no {name!r}")
    return getattr(import_module(f"onevoice.testing.{module}"), name)
