"""The transcribers that are shipped keep the contract: scripted, on OpenAI's wire, and a user's function."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

import onevoice
from onevoice.adapters.transcribers.module import FunctionTranscriber, load_transcriber
from onevoice.adapters.transcribers.openai_compatible import OpenAiTranscriber
from onevoice.adapters.transcribers.silence import SilenceFilter, is_hallucinated
from onevoice.app import build_transcriber
from onevoice.errors import ConfigurationError, TranscriptionFailed
from onevoice.ports.transcriber import Audio, Transcript
from onevoice.settings import Settings, TranscriptionSettings
from onevoice.testing import Gate, LoopbackTranscription, ScriptedTranscriber, TranscriptionFault
from tests.contracts.transcriber_contract import TranscriberContract, TranscriberSubject, an_audio


class ScriptedSubject(TranscriberSubject):
    def __init__(self) -> None:
        self.transcriber = self._scripted = ScriptedTranscriber()

    def hears(self, words: str) -> None:
        self._scripted.script(words)

    def breaks(self) -> None:
        self._scripted.script(TranscriptionFailed("provider_unavailable"))

    def holds(self) -> Gate:
        return self._scripted.script("held", held=True)


class TestScripted(TranscriberContract):
    @pytest.fixture
    def subject(self) -> TranscriberSubject:
        return ScriptedSubject()


class TestScriptedBehindTheFilter(TranscriberContract):
    @pytest.fixture
    def subject(self) -> TranscriberSubject:
        subject = ScriptedSubject()
        subject.transcriber = SilenceFilter(subject.transcriber)
        return subject


class ProviderSubject(TranscriberSubject):
    def __init__(self, provider: LoopbackTranscription, http: httpx2.AsyncClient) -> None:
        self._provider = provider
        self.transcriber = OpenAiTranscriber(
            url=provider.url, model="gpt-transcribe", api_key="sk-example", language=None, http=http
        )

    def hears(self, words: str) -> None:
        self._provider.script(words)

    def breaks(self) -> None:
        self._provider.script(TranscriptionFault(status=503))

    def holds(self) -> Gate:
        return self._provider.script("held", held=True)


class TestOpenAiCompatible(TranscriberContract):
    @pytest.fixture
    async def subject(self) -> AsyncIterator[TranscriberSubject]:
        async with (
            LoopbackTranscription(api_key="sk-example") as provider,
            httpx2.AsyncClient(trust_env=False) as http,
        ):
            yield ProviderSubject(provider, http)


class FunctionSubject(TranscriberSubject):
    def __init__(self) -> None:
        self._script: deque[tuple[str | Exception, Gate]] = deque()
        self.transcriber = FunctionTranscriber("ears:transcribe", self._transcribe)

    async def _transcribe(self, audio: Audio) -> str:
        words, gate = self._script.popleft() if self._script else ("words", Gate(opened=True))
        await gate.pass_through()
        if isinstance(words, Exception):
            raise words
        return words

    def hears(self, words: str) -> None:
        self._script.append((words, Gate(opened=True)))

    def breaks(self) -> None:
        self._script.append((ValueError("no such codec"), Gate(opened=True)))

    def holds(self) -> Gate:
        gate = Gate()
        self._script.append(("held", gate))
        return gate


class TestFunction(TranscriberContract):
    @pytest.fixture
    def subject(self) -> TranscriberSubject:
        return FunctionSubject()


async def test_a_function_is_loaded_from_beside_the_configuration(tmp_path: Path) -> None:
    """It gets the public ``Audio`` and may answer with the public ``Transcript``."""
    (tmp_path / "own_ears.py").write_text(
        "from onevoice import Audio, Transcript\n"
        "async def transcribe(audio: Audio) -> Transcript:\n"
        "    return Transcript(text=f'{len(audio.content)} bytes', model='mine', usage={'seconds': 4})\n"
    )
    transcript = await load_transcriber("own_ears:transcribe", tmp_path).transcribe(an_audio(b"12345"))

    assert transcript == Transcript(text="5 bytes", model="mine", usage={"seconds": 4})
    assert (onevoice.Audio, onevoice.Transcript) == (Audio, Transcript)


async def test_a_function_may_say_that_trying_again_is_no_use() -> None:
    """What it raises as ``TranscriptionFailed`` is taken as it is."""

    async def transcribe(audio: Audio) -> str:
        raise TranscriptionFailed("not_my_language", retry=False)

    with pytest.raises(TranscriptionFailed, match="not_my_language") as caught:
        await FunctionTranscriber("ears:transcribe", transcribe).transcribe(an_audio())
    assert caught.value.retry is False


@pytest.mark.parametrize("answer", [None, 7, b"words", ["words"]])
async def test_a_function_that_gives_no_words_has_failed(answer: object) -> None:
    """The same again would give the same."""

    async def transcribe(audio: Audio) -> object:
        return answer

    with pytest.raises(TranscriptionFailed, match="no_transcript"):
        await FunctionTranscriber("ears:transcribe", transcribe).transcribe(an_audio())


async def test_a_function_that_exits_ends_no_server() -> None:
    """Wrappers of command lines do; the next audio is another's chance."""

    async def transcribe(audio: Audio) -> str:
        raise SystemExit(2)

    with pytest.raises(TranscriptionFailed, match="transcriber_raised") as caught:
        await FunctionTranscriber("ears:transcribe", transcribe).transcribe(an_audio())

    assert caught.value.retry


async def test_what_a_function_raises_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """The kind of error, and whose; never what was said."""
    subject = FunctionSubject()
    subject.breaks()
    with pytest.raises(TranscriptionFailed, match="transcriber_raised"):
        await subject.transcriber.transcribe(an_audio())

    assert [record.__dict__["reason"] for record in caplog.records] == ["ValueError"]
    assert "codec" not in caplog.text


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def transcribe(audio):\n    return ''\n", "async"),
        ("transcribe = 7\n", "async"),
        ("def other(audio):\n    return ''\n", "transcribe"),
    ],
)
def test_what_is_no_such_function_is_refused(tmp_path: Path, source: str, fault: str) -> None:
    """One line that names the key and what would be right."""
    module = f"odd_ears_{abs(hash(source))}"
    (tmp_path / f"{module}.py").write_text(source)
    with pytest.raises(ConfigurationError, match=rf"transcription\.use.*{fault}"):
        load_transcriber(f"{module}:transcribe", tmp_path)


@pytest.mark.parametrize("seconds", [0.0, 0.59])
async def test_a_slip_of_the_thumb_is_not_sent(seconds: float) -> None:
    """Too short for a word; nobody is asked, and nothing is paid."""
    scripted = ScriptedTranscriber("Obrigado.")
    transcript = await SilenceFilter(scripted).transcribe(an_audio(seconds=seconds))

    assert transcript == Transcript(text="")
    assert scripted.audios == []


@pytest.mark.parametrize("seconds", [0.6, 4.0, None])
async def test_everything_longer_is_sent(seconds: float | None) -> None:
    """Also what could not be measured."""
    scripted = ScriptedTranscriber("sim")

    assert (await SilenceFilter(scripted).transcribe(an_audio(seconds=seconds))).text == "sim"


@pytest.mark.parametrize(
    "heard",
    [
        "Legendas pela comunidade Amara.org",
        " LEGENDAS PELA COMUNIDADE AMARA.ORG. ",
        "Obrigado por assistir!",
        "¡Suscríbete al canal!",
        "Suscribete al canal",
        "Thanks for watching.",
        "[BLANK_AUDIO]",
        "…",
        "♪ ♪",
    ],
)
async def test_what_models_make_of_silence_becomes_blank(heard: str) -> None:
    """What it cost stays counted."""
    transcript = await SilenceFilter(ScriptedTranscriber(heard)).transcribe(an_audio())

    assert transcript == Transcript(text="", model="scripted", usage={"seconds": 4.0})


@pytest.mark.parametrize(
    "said",
    ["Obrigado.", "tchau, tchau", "gracias", "obrigado por assistir o vídeo que mandei", "ok", "10", "não"],
)
def test_what_a_customer_may_say_stays(said: str) -> None:
    """Equal is the whole sentence, and politeness is not on the list."""
    assert not is_hallucinated(said)


async def test_the_configuration_chooses_the_transcriber(tmp_path: Path) -> None:
    """Nobody, a provider or a function; the two latter behind the filter."""
    (tmp_path / "chosen_ears.py").write_text("async def transcribe(audio):\n    return 'ouvido'\n")
    async with LoopbackTranscription("pra sexta", api_key="sk-1") as provider, httpx2.AsyncClient() as http:
        url = TranscriptionSettings.model_validate(
            {"url": provider.url, "api_key": "sk-1", "model": "whisper-1", "language": "pt"}
        )
        by_url = build_transcriber(Settings(transcription=url), http=http)
        own = Settings(transcription=TranscriptionSettings(use="chosen_ears:transcribe"))
        by_function = build_transcriber(own.located_in(tmp_path), http=http)

        assert by_url is not None
        assert by_function is not None
        assert build_transcriber(Settings(), http=http) is None
        assert (await by_url.transcribe(an_audio())).text == "pra sexta"
        assert (await by_function.transcribe(an_audio())).text == "ouvido"
        assert provider.requests[0].fields == {
            "model": "whisper-1",
            "response_format": "json",
            "language": "pt",
        }
