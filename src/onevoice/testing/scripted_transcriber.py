"""A transcriber that hears what a test wrote for it."""

from __future__ import annotations

from collections import deque

from onevoice.ports.transcriber import Audio, Transcript
from onevoice.testing.gate import CallCount, Gate


class ScriptedTranscriber:
    """Implements ports/transcriber.py from a script; when it is over, ``otherwise`` is heard.

    >>> transcriber = ScriptedTranscriber("pra sexta")
    >>> gate = transcriber.script("de manhã", held=True)  # The second call waits at this gate.
    """

    def __init__(
        self, *script: str | Exception, otherwise: str = "transcribed words", name: str = "scripted"
    ) -> None:
        self.name = name
        self.bytes_max = 1024 * 1024
        self.audios: list[Audio] = []
        self.closed = False
        self._otherwise = otherwise
        self._script: deque[tuple[str | Exception, Gate]] = deque()
        self._calls = CallCount(f"the transcriber {name}")
        for entry in script:
            self.script(entry)

    def script(self, entry: str | Exception, *, held: bool = False) -> Gate:
        """Add the next call's words or error. ``held``: the call waits at the returned gate."""
        gate = Gate(opened=not held)
        self._script.append((entry, gate))
        return gate

    async def called(self, count: int = 1, *, seconds_max: float = 5.0) -> None:
        """Wait until so many audios were brought in all."""
        await self._calls.reach(count, seconds_max=seconds_max)

    async def transcribe(self, audio: Audio) -> Transcript:
        self.audios.append(audio)
        entry: str | Exception = self._otherwise
        gate = Gate(opened=True)
        if self._script:
            entry, gate = self._script.popleft()
        self._calls.note()
        await gate.pass_through()
        if isinstance(entry, Exception):
            raise entry
        return Transcript(text=entry, model=self.name, usage={"seconds": audio.seconds or 0.0})

    async def close(self) -> None:
        self.closed = True
