"""A voice note is a part of the burst: its turn waits for the words, and the answer knows them."""

from __future__ import annotations

import io
import wave

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Json, saying
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.stopwatch import wall_seconds

_TEXT = "queria marcar um horário"
_WORDS = "pode ser na sexta de manhã"
_ANSWER = "Sexta de manhã às 9h está livre. Confirmo?"
_SPEAKS_AT_MS = 500
_TRANSCRIBING_SECONDS = 4.0


async def _audio(play: Play) -> None:
    async def answer(call: AgentCall) -> Json:
        return saying(_ANSWER if call.texts == (_TEXT, _WORDS) else "Não entendi o áudio.")

    play.answer(answer)
    transcribed = play.stage.transcription.script(_WORDS, held=True)
    await play.say(_TEXT)
    await play.until_ms(_SPEAKS_AT_MS)
    await play.speak(_recording())
    await play.until(
        lambda: bool(play.stage.transcription.requests), "the audio is brought to the transcriber"
    )
    play.note(wall_seconds(), "transcription", "asked for")
    await play.pause(_TRANSCRIBING_SECONDS)
    play.expect("nobody answers before the words are there", not play.calls, found=f"{len(play.calls)} calls")
    transcribed.open()
    heard_at = wall_seconds()
    await play.got()
    await play.quiet()
    play.expect_calls(1)
    play.expect(
        "the call has the text and the words", play.calls[0].texts == (_TEXT, _WORDS),
        found=" | ".join(play.calls[0].texts),
    )  # fmt: skip
    play.expect_received(_ANSWER)
    play.time("the answer, after the words", play.ms(heard_at), play.received_at(0))


def _recording() -> bytes:
    """Two seconds of a quiet room."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(8000)
        recording.writeframes(bytes(2 * 8000 * 2))
    return buffer.getvalue()


AUDIO = Scenario(
    name="audio",
    shows="a text, then a voice note whose words take 4 s: one agent call with both",
    venue=Venue.VOICE,
    act=_audio,
)
