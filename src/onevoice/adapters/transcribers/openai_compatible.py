"""Transcription by any server that speaks OpenAI's ``/audio/transcriptions``: one POST per audio, no retry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final, cast

import httpx2
import msgspec

from onevoice.errors import TranscriptionFailed
from onevoice.ports.transcriber import Audio, Transcript

BYTES_MAX: Final = 25 * 2**20
PATH: Final = "/audio/transcriptions"

_ANSWER_BYTES_MAX: Final = 2 * 2**20
_RETRY_SECONDS_MAX: Final = 3600.0
# The caller bounds the whole call; a provider that is not there should not use all of its time.
_TIMEOUT: Final = httpx2.Timeout(None, connect=10.0, pool=10.0)
# Providers tell the format by the extension, and know the first of these spellings only.
_EXTENSIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(["audio/ogg", "audio/opus", "audio/x-opus+ogg", "application/ogg", "video/ogg"], "ogg"),
    **dict.fromkeys(["audio/mpeg", "audio/mp3"], "mp3"),
    **dict.fromkeys(["audio/mp4", "audio/m4a", "audio/x-m4a", "audio/mp4a-latm"], "m4a"),
    **dict.fromkeys(["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"], "wav"),
    **dict.fromkeys(["audio/flac", "audio/x-flac"], "flac"),
    **dict.fromkeys(["audio/webm", "video/webm"], "webm"),
    "video/mp4": "mp4",
    "audio/amr": "amr",
    "audio/aac": "aac",
}
_TYPES: Final[Mapping[str, str]] = {
    "ogg": "audio/ogg",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "wav": "audio/wav",
    "flac": "audio/flac",
}


class OpenAiTranscriber:
    """Implements ports/transcriber.py. ``url`` is the API's base or the whole path; ``http`` belongs to the caller."""

    def __init__(
        self, *, url: str, model: str, api_key: str, language: str | None, http: httpx2.AsyncClient
    ) -> None:
        self.name = "openai_compatible"
        self.bytes_max = BYTES_MAX
        self._url = transcriptions_url(url)
        self._model = model
        self._api_key = api_key
        self._language = language
        self._http = http

    async def transcribe(self, audio: Audio) -> Transcript:
        if len(audio.content) > self.bytes_max:
            raise TranscriptionFailed("too_large", retry=False)
        filename, mime_type = name_file(audio)
        fields = {"model": self._model, "response_format": "json"}
        if self._language:
            fields["language"] = self._language
        # No error is chained from here on: one of a header holds the key, one of the answer may hold the words.
        try:
            request = self._http.build_request(
                "POST",
                self._url,
                data=fields,
                files={"file": (filename, audio.content, mime_type)},
                headers=self._headers(),
                timeout=_TIMEOUT,
            )
        except ValueError:
            raise TranscriptionFailed("credentials_refused", retry=False) from None
        try:
            response, answer = await self._send(request)
        except httpx2.TimeoutException:
            raise TranscriptionFailed("timeout") from None
        except httpx2.HTTPError:
            raise TranscriptionFailed("provider_unreachable") from None
        if response.status_code != 200:
            raise _refusal(response, answer)
        text, usage = _read(response, answer)
        return Transcript(text=text, model=self._model, usage=usage)

    async def close(self) -> None:
        """The client is the caller's."""

    def _headers(self) -> dict[str, str]:
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        if self._api_key:
            headers["authorization"] = f"Bearer {self._api_key}"
        return headers

    async def _send(self, request: httpx2.Request) -> tuple[httpx2.Response, bytes]:
        response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            answer = bytearray()
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > _ANSWER_BYTES_MAX:
                    raise TranscriptionFailed("answer_unreadable", retry=False)
            return response, bytes(answer)
        finally:
            await response.aclose()


def transcriptions_url(url: str) -> str:
    """The call's URL for an API's base, or for itself."""
    bare = url.rstrip("/")
    return bare if bare.endswith(PATH) else bare + PATH


def name_file(audio: Audio) -> tuple[str, str]:
    """A file name and a type that agree, as providers know them; the customer's own name stays here."""
    base_type = audio.mime_type.partition(";")[0].strip().lower()
    extension = _EXTENSIONS.get(base_type)
    if extension is None:
        extension = PurePosixPath(audio.filename).suffix.lstrip(".").lower() or "ogg"
        extension = {"oga": "ogg", "opus": "ogg"}.get(extension, extension)
    return f"audio.{extension}", _TYPES.get(extension, base_type or "application/octet-stream")


def _read(response: httpx2.Response, answer: bytes) -> tuple[str, dict[str, object] | None]:
    """Words and usage; a server that ignores ``response_format`` answers with the words alone."""
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/plain":
        return answer.decode("utf-8", "replace"), None
    content = _decode(answer)
    text = content.get("text")
    if not isinstance(text, str):
        raise TranscriptionFailed("answer_unreadable")
    usage = content.get("usage")
    return text, cast("dict[str, object]", usage) if isinstance(usage, dict) else None


def _refusal(response: httpx2.Response, answer: bytes) -> TranscriptionFailed:
    """What an error means, by its status and its code; its words may quote what was sent, and stay out."""
    status = response.status_code
    error = _decode(answer).get("error")
    fields = cast("dict[str, object]", error) if isinstance(error, dict) else {}
    codes = [fields.get("code"), fields.get("type")]
    wait = _retry_after(response)
    if "insufficient_quota" in codes:
        return TranscriptionFailed("insufficient_quota", retry=False)
    if status == 404 or "model_not_found" in codes:
        return TranscriptionFailed("model_unknown", retry=False)
    if status == 429:
        return TranscriptionFailed("rate_limited", retry_after_seconds=wait)
    if status >= 500 or status == 408:
        return TranscriptionFailed("provider_unavailable", retry_after_seconds=wait)
    reasons = {
        400: "bad_audio",
        401: "credentials_refused",
        403: "credentials_refused",
        413: "too_large",
        415: "bad_audio",
        422: "bad_audio",
    }
    return TranscriptionFailed(reasons.get(status, "refused"), retry=False)


def _retry_after(response: httpx2.Response) -> float | None:
    """The provider's own wait in seconds; dates are left to the caller's back-off."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(max(seconds, 0.0), _RETRY_SECONDS_MAX) if math.isfinite(seconds) else None


def _decode(answer: bytes) -> dict[str, object]:
    try:
        content: object = msgspec.json.decode(answer)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}
