"""Voice messages: their turn waits for the words, never silently goes without them, and never waits for ever."""

from __future__ import annotations

import pytest

from onevoice.errors import TranscriptionFailed
from onevoice.flow.proposal.decide import NO_SPEECH, NOT_TRANSCRIBED
from onevoice.flow.transcription.decide import LEASE_SECONDS, TRIES_MAX
from onevoice.vocabulary import OutboundState, TurnState
from tests.perform.clinic import count
from tests.perform.stage import Stage

UNHEARD = f"[voice message] {NOT_TRANSCRIBED}"


def _given(stage: Stage) -> list[list[str | None]]:
    """What each agent call was given: words where there are any, else the description."""
    return [
        [message.transcription or message.text for message in context.messages]
        for context in stage.agent.contexts
    ]


async def test_text_then_audio_is_one_call_with_both(stage: Stage) -> None:
    """The words take four seconds beyond the window; nothing is asked before."""
    await stage.customer("queria marcar")
    await stage.audio()
    await stage.fetch_files()
    (hearing,) = await stage.hearings()
    await stage.clock.advance(9.0)
    assert await stage.claim() == []
    stage.transcriber.script("pra sexta de manhã")
    await stage.transcribe(hearing)
    await stage.run()

    assert _given(stage) == [["queria marcar", "pra sexta de manhã"]]
    assert stage.channel.sent_texts == ["Certo!"]


async def test_words_in_time_do_not_lengthen_the_window(stage: Stage) -> None:
    """They complete the message; the customer's silence counts from the message itself."""
    await stage.audio()
    await stage.after(4.9)
    assert stage.agent.contexts == []
    await stage.after(0.1)

    assert _given(stage) == [["transcribed words"]]


async def test_a_transcriber_that_is_down_is_a_marked_part_after_the_deadline(stage: Stage) -> None:
    """One call, with the audio marked as not transcribed."""
    for _ in range(TRIES_MAX + 1):
        stage.transcriber.script(TranscriptionFailed("unreachable"))
    await stage.customer("oi")
    await stage.audio()
    await stage.play(29.9)
    assert stage.agent.contexts == []
    await stage.play(0.2)

    assert _given(stage) == [["oi", UNHEARD]]


async def test_an_error_that_no_retry_helps_frees_the_turn(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """There is nothing to wait for, and the log says why."""
    stage.transcriber.script(TranscriptionFailed("bad_audio", retry=False))
    await stage.audio()
    await stage.after(5.0)

    assert _given(stage) == [[UNHEARD]]
    (row,) = await stage.rows("media")
    assert (row["transcription_state"], row["transcription_reason"]) == ("failed", "bad_audio")
    (line,) = caplog.records
    assert (line.getMessage(), vars(line)["media_id"], vars(line)["reason"]) == (
        "an audio gets no words", str(row["id"]), "bad_audio",
    )  # fmt: skip


async def test_three_audios_wait_no_longer_than_the_oldest_one_may(stage: Stage) -> None:
    """Also when the oldest has its words: a customer who speaks on is not held for ever."""
    await stage.audio()
    await stage.fetch_files()
    (first,) = await stage.hearings()
    await stage.clock.advance(10.0)
    await stage.transcribe(first)
    await stage.audio()
    await stage.clock.advance(10.0)
    await stage.audio()
    await stage.fetch_files()
    assert len(await stage.hearings()) == 2
    await stage.clock.advance(9.9)
    assert await stage.claim() == []
    await stage.clock.advance(0.1)
    for turn in await stage.claim():
        await stage.answer(turn)

    assert _given(stage) == [["transcribed words", UNHEARD, UNHEARD]]


async def test_silence_is_told_as_silence(stage: Stage) -> None:
    """Nobody speaks: the agent is told so instead of being given invented words."""
    stage.transcriber.script("   ")
    await stage.audio()
    await stage.after(5.0)

    assert _given(stage) == [[f"[voice message] {NO_SPEECH}"]]


async def test_without_a_file_there_is_nothing_to_wait_for(stage: Stage) -> None:
    """The channel no longer has the audio."""
    await stage.customer("[voice message]", type="audio", media={"kind": "audio", "id": "gone"})
    await stage.after(5.0)

    assert _given(stage) == [[UNHEARD]]
    (row,) = await stage.rows("media")
    assert (row["transcription_state"], row["transcription_reason"]) == ("failed", "no_file")


async def test_late_words_during_the_turn_are_not_ignored(stage: Stage) -> None:
    """The turn that read the audio without them does not close it: its words are answered by the next one."""
    await stage.audio()
    await stage.fetch_files()
    (hearing,) = await stage.hearings()
    await stage.clock.advance(30.0)
    (turn,) = await stage.claim()
    await stage.clock.advance(1.0)
    await stage.transcribe(hearing)
    verdict = await stage.answer(turn)
    await stage.after(5.0)

    # The cap of discards has passed, so the first answer leaves; the words get one of their own.
    assert verdict.state is TurnState.SEALED
    assert _given(stage)[-1] == ["transcribed words"]
    assert len(stage.agent.contexts) == 2


async def test_late_words_drop_a_reply_that_has_not_begun(stage: Stage) -> None:
    """It was made without them, as a reply to words that were edited since."""
    await stage.audio()
    await stage.fetch_files()
    (hearing,) = await stage.hearings()
    await stage.clock.advance(30.0)
    (turn,) = await stage.claim()
    await stage.answer(turn)
    await stage.transcribe(hearing)
    await stage.after(5.0)

    states = await stage.states("outbound_message")
    assert states == ["superseded: amended", OutboundState.SENT.value]
    assert _given(stage) == [[UNHEARD], ["transcribed words"]]


async def test_words_after_the_answer_are_history(stage: Stage) -> None:
    """The answer has left: the words are kept for the operator and the agent's next turn, and start none."""
    await stage.audio()
    await stage.fetch_files()
    (hearing,) = await stage.hearings()
    await stage.clock.advance(30.0)
    for turn in await stage.claim():
        await stage.answer(turn)
    await stage.send()
    await stage.transcribe(hearing)
    await stage.after(30.0)

    assert len(stage.agent.contexts) == 1
    assert (await stage.rows("inbound_message"))[0]["transcription"] == "transcribed words"
    await stage.customer("e aí?")
    await stage.after(5.0)
    assert "transcribed words" in [item.text for item in stage.agent.contexts[1].history]


async def test_a_process_that_dies_in_the_call_loses_nothing(stage: Stage) -> None:
    """The lease runs out and another process has the audio transcribed."""
    await stage.audio()
    await stage.fetch_files()
    await stage.hearings()
    await stage.after(LEASE_SECONDS)

    assert _given(stage) == [["transcribed words"]]


async def test_words_that_come_twice_change_nothing(stage: Stage) -> None:
    """A slow process and the one that took over both finish; the first counts."""
    await stage.audio()
    await stage.fetch_files()
    (slow,) = await stage.hearings()
    await stage.after(LEASE_SECONDS)
    stage.transcriber.script("other words")
    await stage.transcribe(slow)

    assert (await stage.rows("inbound_message"))[0]["transcription"] == "transcribed words"
    assert [row["state"] for row in await stage.rows("journal") if row["kind"] == "transcription"] == ["done"]


async def test_a_revoked_audio_holds_nobody(stage: Stage) -> None:
    """What the customer took back is not waited for."""
    await stage.customer("oi")
    await stage.audio(id="voice")
    await stage.downloads()
    await stage.customer("", kind="revoke", target="voice", id="revoke")
    await stage.clock.advance(5.0)

    assert len(await stage.claim()) == 1


async def test_what_a_minute_costs_is_counted(stage: Stage) -> None:
    """Playing time comes from the file, so a provider's own count is not needed."""
    await stage.audio(_wav(seconds=3))
    await stage.after(5.0)

    assert stage.transcriber.audios[0].seconds == 3.0
    assert count(stage, "transcribed_seconds") == 3


def _wav(*, seconds: int) -> bytes:
    import io
    import wave

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(bytes(16000 * seconds))
    return buffer.getvalue()
