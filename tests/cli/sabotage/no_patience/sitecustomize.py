"""Loaded by every Python process of a test: no turn waits for the words of an audio."""

from typing import Any

from onevoice.entrypoints import cli_options

_read = cli_options.read_settings


def _read_without_patience(*arguments: Any, **named: Any) -> Any:
    settings = _read(*arguments, **named)
    turns = settings.turns.model_copy(update={"transcription_deadline_seconds": 0.0})
    return settings.model_copy(update={"turns": turns})


cli_options.read_settings = _read_without_patience
