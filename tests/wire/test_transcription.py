"""Transcription on OpenAI's wire: one form, words and usage, and errors that say what helps."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.adapters.transcribers import openai_compatible
from onevoice.adapters.transcribers.openai_compatible import OpenAiTranscriber, name_file, transcriptions_url
from onevoice.errors import TranscriptionFailed
from onevoice.ports.transcriber import Audio
from onevoice.testing import AgentAnswer, LoopbackTranscription, TranscriptionFault

VOICE = b"OggS\r\n--\r\n\x00\xff" + bytes(range(256)) * 10 + b"\r\n"
KEY = "sk-example-key"


def an_audio(content: bytes = VOICE, mime_type: str = "audio/ogg; codecs=opus") -> Audio:
    return Audio(content=content, mime_type=mime_type, filename="voice.oga", seconds=4.0)


@pytest.fixture
async def provider() -> AsyncIterator[LoopbackTranscription]:
    async with LoopbackTranscription(api_key=KEY) as provider:
        yield provider


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client


def transcriber(
    provider: LoopbackTranscription,
    http: httpx2.AsyncClient,
    *,
    api_key: str = KEY,
    language: str | None = None,
) -> OpenAiTranscriber:
    return OpenAiTranscriber(
        url=provider.url, model="gpt-transcribe", api_key=api_key, language=language, http=http
    )


async def failed(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, *, api_key: str = KEY
) -> TranscriptionFailed:
    with pytest.raises(TranscriptionFailed) as caught:
        await transcriber(provider, http, api_key=api_key).transcribe(an_audio())
    return caught.value


async def test_one_form_carries_the_audio(provider: LoopbackTranscription, http: httpx2.AsyncClient) -> None:
    """Bytes as they are, under a name and a type the provider knows; the language only where it is set."""
    provider.script("pra sexta")
    transcript = await transcriber(provider, http).transcribe(an_audio())
    await transcriber(provider, http, language="pt").transcribe(an_audio())

    first, second = provider.requests
    assert (transcript.text, transcript.model) == ("pra sexta", "gpt-transcribe")
    assert transcript.usage == {"type": "duration", "seconds": 4}
    assert first.content == VOICE
    assert (first.filename, first.mime_type) == ("audio.ogg", "audio/ogg")
    assert first.fields == {"model": "gpt-transcribe", "response_format": "json"}
    assert first.authorization == f"Bearer {KEY}"
    assert second.fields["language"] == "pt"


@pytest.mark.parametrize(
    ("mime_type", "filename", "expected"),
    [
        ("audio/ogg; codecs=opus", "x.oga", ("audio.ogg", "audio/ogg")),
        ("application/ogg", "x", ("audio.ogg", "audio/ogg")),
        ("audio/opus", "x.opus", ("audio.ogg", "audio/ogg")),
        ("audio/mpeg", "x.mpga", ("audio.mp3", "audio/mpeg")),
        ("audio/mp4", "x.mp4", ("audio.m4a", "audio/mp4")),
        ("Audio/X-M4A", "x.m4a", ("audio.m4a", "audio/mp4")),
        ("audio/amr", "x.amr", ("audio.amr", "audio/amr")),
        ("audio/unheard-of", "../../x.OGA", ("audio.ogg", "audio/ogg")),
        ("audio/unheard-of", "x.spx", ("audio.spx", "audio/unheard-of")),
        ("", "x", ("audio.ogg", "audio/ogg")),
    ],
)
def test_the_extension_fits_the_format(mime_type: str, filename: str, expected: tuple[str, str]) -> None:
    """Providers tell the format by it; the customer's own name is not passed on."""
    assert name_file(Audio(content=b"", mime_type=mime_type, filename=filename)) == expected


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/audio/transcriptions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/audio/transcriptions"),
        (
            "http://127.0.0.1:8000/x/audio/transcriptions",
            "http://127.0.0.1:8000/x/audio/transcriptions",
        ),
    ],
)
def test_the_base_or_the_whole_path_may_be_given(url: str, called: str) -> None:
    """Both are what providers' pages show."""
    assert transcriptions_url(url) == called


@pytest.mark.parametrize(
    ("fault", "reason", "retry"),
    [
        (TranscriptionFault(status=400, code="invalid_value"), "bad_audio", False),
        (TranscriptionFault(status=400, code="model_not_found"), "model_unknown", False),
        (TranscriptionFault(status=401, code="invalid_api_key"), "credentials_refused", False),
        (TranscriptionFault(status=403), "credentials_refused", False),
        (TranscriptionFault(status=404, code="model_not_found"), "model_unknown", False),
        (TranscriptionFault(status=413), "too_large", False),
        (TranscriptionFault(status=415), "bad_audio", False),
        (TranscriptionFault(status=422), "bad_audio", False),
        (TranscriptionFault(status=429, code="insufficient_quota"), "insufficient_quota", False),
        (TranscriptionFault(status=429, code="rate_limit_exceeded"), "rate_limited", True),
        (TranscriptionFault(status=500), "provider_unavailable", True),
        (TranscriptionFault(status=503), "provider_unavailable", True),
        (TranscriptionFault(status=408), "provider_unavailable", True),
        (TranscriptionFault(status=302, headers={"location": "http://127.0.0.1:9/"}), "refused", False),
        (TranscriptionFault(status=418), "refused", False),
    ],
    ids=lambda value: f"{value.status}-{value.code}" if isinstance(value, TranscriptionFault) else None,
)
async def test_a_refusal_says_whether_trying_again_helps(
    provider: LoopbackTranscription,
    http: httpx2.AsyncClient,
    fault: TranscriptionFault,
    reason: str,
    retry: bool,
) -> None:
    """By status and code; the provider's words stay out, they may quote what was sent."""
    provider.script(fault)
    error = await failed(provider, http)

    assert (error.reason, error.retry) == (reason, retry)
    assert fault.message not in str(error)


@pytest.mark.parametrize(
    ("given", "wait"), [("7", 7.0), ("0.5", 0.5), ("1e9", 3600.0), ("-1", 0.0), ("nan", None), ("soon", None)]
)
async def test_the_providers_own_wait_is_kept(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, given: str, wait: float | None
) -> None:
    """``Retry-After`` in seconds, within reason."""
    provider.script(TranscriptionFault(status=429, headers={"retry-after": given}))

    assert (await failed(provider, http)).retry_after_seconds == wait


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"text":7}', b'"words"', b"[" * 100_000])
async def test_an_answer_without_words_is_tried_again(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, body: bytes
) -> None:
    """Whatever it is."""
    provider.script(AgentAnswer(body=body))
    error = await failed(provider, http)

    assert (error.reason, error.retry) == ("answer_unreadable", True)


@pytest.mark.parametrize("error", [b"null", b"[]", b'{"code":[],"type":{}}', b'{"code":{"a":1}}', b"7"])
async def test_an_error_of_any_shape_is_read(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, error: bytes
) -> None:
    """Its status is enough."""
    provider.script(AgentAnswer(status=500, body=b'{"error":' + error + b"}"))

    assert (await failed(provider, http)).reason == "provider_unavailable"


async def test_plain_words_are_words(provider: LoopbackTranscription, http: httpx2.AsyncClient) -> None:
    """A server that ignores the format asked for."""
    answer = AgentAnswer(body="às dez\n".encode(), headers={"content-type": "text/plain; charset=utf-8"})
    provider.script(answer)

    assert (await transcriber(provider, http).transcribe(an_audio())).text == "às dez\n"


async def test_an_answer_without_an_end_is_cut(
    provider: LoopbackTranscription, http: httpx2.AsyncClient
) -> None:
    """Two megabytes are an evening of talk."""
    provider.script(AgentAnswer(body=b'{"text":"' + b"x" * 3_000_000 + b'"}'))
    error = await failed(provider, http)

    assert (error.reason, error.retry) == ("answer_unreadable", False)


async def test_a_provider_that_is_away_is_tried_again(http: httpx2.AsyncClient) -> None:
    """Nothing was heard yet."""
    async with LoopbackTranscription() as provider:
        away = transcriber(provider, http)
    with pytest.raises(TranscriptionFailed) as caught:
        await away.transcribe(an_audio())

    assert (caught.value.reason, caught.value.retry) == ("provider_unreachable", True)


async def test_a_provider_that_hangs_up_is_tried_again(
    provider: LoopbackTranscription, http: httpx2.AsyncClient
) -> None:
    """In the middle of the call."""
    provider.script(AgentAnswer(hang_up=True))

    assert (await failed(provider, http)).reason == "provider_unreachable"


async def test_a_time_limit_of_the_connection_is_a_timeout(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named as such; the limit of the whole call is the caller's."""
    monkeypatch.setattr(openai_compatible, "_TIMEOUT", httpx2.Timeout(5.0, read=0.05))
    gate = provider.script("late", held=True)
    error = await failed(provider, http)
    gate.open()

    assert (error.reason, error.retry) == ("timeout", True)


async def test_what_is_too_large_is_not_sent(
    provider: LoopbackTranscription, http: httpx2.AsyncClient
) -> None:
    """The caller looks at ``bytes_max`` first; this is the second look."""
    subject = transcriber(provider, http)
    with pytest.raises(TranscriptionFailed, match="too_large"):
        await subject.transcribe(an_audio(bytes(subject.bytes_max + 1)))

    assert provider.requests == []


async def test_without_a_key_none_is_sent(http: httpx2.AsyncClient) -> None:
    """A server of one's own asks for none."""
    async with LoopbackTranscription() as provider:
        await transcriber(provider, http, api_key="").transcribe(an_audio())

        assert provider.requests[0].authorization is None


async def test_neither_key_nor_words_are_logged(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even at the finest level."""
    provider.script("pra sexta")
    provider.script(TranscriptionFault(status=400, message=f"bad audio of {KEY}"))
    with caplog.at_level(logging.DEBUG):
        await transcriber(provider, http).transcribe(an_audio())
        error = await failed(provider, http)

    assert not [word for word in (KEY, "sexta") if word in caplog.text + str(error)]


@pytest.mark.parametrize("api_key", ["sk-é", "sk\r\nx: y"])
async def test_a_key_that_is_no_header_shows_in_no_error(
    provider: LoopbackTranscription, http: httpx2.AsyncClient, api_key: str
) -> None:
    """The library's own error would quote it."""
    error = await failed(provider, http, api_key=api_key)

    assert error.__cause__ is None
    assert provider.requests == []
