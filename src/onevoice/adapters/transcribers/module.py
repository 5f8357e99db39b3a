"""A transcriber written by the user: ``async (Audio) -> Transcript | str``."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, cast

from onevoice.errors import TranscriptionFailed
from onevoice.ports.transcriber import Audio, Transcript
from onevoice.settings.attribute import attribute_fault, import_attribute

LOG = logging.getLogger("onevoice.transcription")

BYTES_MAX: Final = 25 * 2**20

TranscriberFunction = Callable[[Audio], Awaitable[object]]

_KEY: Final = "transcription.use"
_WANTED: Final = "an `async def transcribe(audio: Audio) -> str`"


class FunctionTranscriber:
    """Implements ports/transcriber.py. The function may raise ``TranscriptionFailed``; anything else is retried."""

    def __init__(self, name: str, transcribe: TranscriberFunction) -> None:
        self.name = name
        self.bytes_max = BYTES_MAX
        self._transcribe = transcribe

    async def transcribe(self, audio: Audio) -> Transcript:
        try:
            answer = await self._transcribe(audio)
        except TranscriptionFailed:
            raise
        # What was a command once exits, and must not end the server.
        except (Exception, SystemExit) as error:
            LOG.warning(
                "the transcription's function raised",
                extra={"use": self.name, "reason": type(error).__name__},
            )
            raise TranscriptionFailed("transcriber_raised") from error
        if isinstance(answer, str):
            return Transcript(text=answer)
        if not isinstance(answer, Transcript):
            raise TranscriptionFailed("no_transcript", retry=False)
        return answer

    async def close(self) -> None:
        """The function is the user's."""


def load_transcriber(use: str, folder: Path) -> FunctionTranscriber:
    """Import ``use`` with ``folder`` first on the path; raises ``ConfigurationError`` with one line."""
    found = import_attribute(_KEY, use, folder, wanted=_WANTED)
    if not inspect.iscoroutinefunction(found):
        raise attribute_fault(_KEY, use, "is no async function", f"name {_WANTED}")
    return FunctionTranscriber(use, cast("TranscriberFunction", found))
