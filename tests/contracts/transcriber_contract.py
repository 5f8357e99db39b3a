"""What every transcriber promises (ports/transcriber.py). A subclass adds the ``subject`` fixture."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod

import pytest

from onevoice.errors import TranscriptionFailed
from onevoice.ports.transcriber import Audio, Transcriber, Transcript
from onevoice.testing import Gate


def an_audio(content: bytes = b"OggS" + bytes(range(256)), *, seconds: float | None = 4.0) -> Audio:
    return Audio(content=content, mime_type="audio/ogg", filename="audio.ogg", seconds=seconds)


class TranscriberSubject(ABC):
    """A transcriber, and a hand on what it hears."""

    transcriber: Transcriber

    @abstractmethod
    def hears(self, words: str) -> None:
        """The next audio says this."""

    @abstractmethod
    def breaks(self) -> None:
        """The next call fails, in a way that may be over by the one after it."""

    @abstractmethod
    def holds(self) -> Gate:
        """The next call stands at the gate."""


class TranscriberContract:
    @pytest.mark.parametrize("words", ["quero remarcar pra sexta", "não, às 10h 😀", "a\nb", "x" * 50_000])
    async def test_it_gives_the_words(self, subject: TranscriberSubject, words: str) -> None:
        """As they were heard."""
        subject.hears(words)

        assert (await subject.transcriber.transcribe(an_audio())).text == words

    @pytest.mark.parametrize("blank", ["", "  \n"])
    async def test_silence_is_blank(self, subject: TranscriberSubject, blank: str) -> None:
        """No error: nobody spoke."""
        subject.hears(blank)

        assert not (await subject.transcriber.transcribe(an_audio())).text.strip()

    async def test_a_failure_has_one_shape(self, subject: TranscriberSubject) -> None:
        """A reason that fits a metric's label, and whether trying again can help."""
        subject.breaks()
        with pytest.raises(TranscriptionFailed) as caught:
            await subject.transcriber.transcribe(an_audio())

        assert re.fullmatch(r"[a-z_]{1,40}", caught.value.reason)
        assert caught.value.retry is True

    async def test_the_next_call_is_unharmed(self, subject: TranscriberSubject) -> None:
        """One try each; a failure leaves nothing behind."""
        subject.breaks()
        with pytest.raises(TranscriptionFailed):
            await subject.transcriber.transcribe(an_audio())
        subject.hears("de manhã")

        assert (await subject.transcriber.transcribe(an_audio())).text == "de manhã"

    async def test_calls_run_side_by_side(self, subject: TranscriberSubject) -> None:
        """One instance serves all conversations at once."""
        gate = subject.holds()
        held = asyncio.ensure_future(subject.transcriber.transcribe(an_audio()))
        await gate.reached()
        transcripts = await asyncio.gather(*(subject.transcriber.transcribe(an_audio()) for _ in range(8)))
        gate.open()

        assert all(isinstance(transcript, Transcript) for transcript in [*transcripts, await held])

    async def test_the_caller_can_end_it(self, subject: TranscriberSubject) -> None:
        """It bounds nothing itself: a time limit around it cuts the call."""
        gate = subject.holds()
        call = asyncio.ensure_future(subject.transcriber.transcribe(an_audio()))
        await gate.reached()
        call.cancel()
        await asyncio.wait([call])
        gate.open()

        assert call.cancelled()

    def test_it_says_how_much_it_takes(self, subject: TranscriberSubject) -> None:
        """A larger audio is not brought; its name fits a metric's label."""
        assert subject.transcriber.bytes_max > 0
        assert re.fullmatch(r"\S{1,64}", subject.transcriber.name)

    async def test_it_can_be_closed_twice(self, subject: TranscriberSubject) -> None:
        """Closing is the last call and harmless when repeated."""
        await subject.transcriber.close()
        await subject.transcriber.close()
