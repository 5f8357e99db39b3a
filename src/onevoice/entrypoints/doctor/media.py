"""Files and words: can a file be kept and read again, does whoever transcribes answer?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import urlsplit
from uuid import UUID

import httpx2

from onevoice.adapters.transcribers.openai_compatible import PATH, transcriptions_url
from onevoice.app import build_media_store
from onevoice.entrypoints.doctor.extension import check_reference
from onevoice.entrypoints.doctor.finding import Finding, fault, ok, warning
from onevoice.entrypoints.doctor.machine import is_loopback
from onevoice.errors import ConfigurationError, MediaUnavailable
from onevoice.settings import Settings

_ANSWER_SECONDS_MAX = 5.0
# No account is named so, because a name has no dot.
_PROBE_KEY = f"onevoice.doctor/{UUID(int=0)}"
_PROBE = b"onevoice doctor was here"


async def check_media(settings: Settings) -> Finding:
    """Write a small file, read it and delete it; a folder that is not there yet is not made."""
    folder = settings.database.data_dir.expanduser() / "media"
    place = settings.media.url or str(folder)
    if not settings.media.url and not folder.exists():
        return ok("media", f"{place} will be made at the first start")
    act = (
        "check media.url, endpoint_url, region and the keys, and that the bucket is there"
        if settings.media.url
        else "check the folder's rights and the room on its disk"
    )
    try:
        store = build_media_store(settings)
        try:
            await store.write(_PROBE_KEY, _probe())
            found = b"".join([piece async for piece in store.read(_PROBE_KEY)])
            await store.delete(_PROBE_KEY)
        finally:
            await store.close()
    except (ConfigurationError, MediaUnavailable) as error:
        cause = type(error.__cause__ or error).__name__
        return fault("media", f"no file can be kept in {place} ({cause})", act)
    if found != _PROBE:
        return fault("media", f"{place} gives other bytes back than it was given", act)
    return ok("media", f"files are kept in {place}")


async def check_transcription(settings: Settings) -> Finding:
    """Nothing is transcribed: the provider is asked for its models only."""
    transcription = settings.transcription
    if transcription.use:
        return check_reference("transcription", "transcription.use", transcription.use, settings.folder)
    if not transcription.url:
        return ok(
            "transcription",
            "none; voice messages reach the agent without their words",
            "set transcription.url and api_key, or transcription.use",
        )
    api_key = transcription.api_key.get_secret_value()
    parts = urlsplit(transcription.url)
    if api_key and parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return warning(
            "transcription",
            "its URL is not encrypted, so api_key was not sent to try it",
            "write https://, or keep the line to it private",
        )
    try:
        async with httpx2.AsyncClient(
            timeout=_ANSWER_SECONDS_MAX, follow_redirects=False, trust_env=False
        ) as client:
            response = await client.get(
                transcriptions_url(transcription.url).removesuffix(PATH) + "/models",
                headers={"authorization": f"Bearer {api_key}"} if api_key else {},
            )
    except (httpx2.HTTPError, OSError, ValueError) as error:
        return fault(
            "transcription",
            f"its URL does not answer ({type(error).__name__})",
            "start it, or correct transcription.url; until then turns with audio wait for their deadline",
        )
    return read_models(response, transcription.model)


def read_models(response: httpx2.Response, model: str) -> Finding:
    """What the provider's list of models says; a server of one's own may have none."""
    status = response.status_code
    if status in {401, 403}:
        return fault(
            "transcription", f"the provider refuses api_key ({status})", "make a new key, and set it"
        )
    if status >= 500:
        return warning(
            "transcription", f"the provider answers {status}", "look at the provider's status page"
        )
    models = _models(response) if status == 200 else set[str]()
    if models and model not in models:
        return warning(
            "transcription",
            "the provider answers, but does not list transcription.model",
            "compare the model with the provider's list",
        )
    return ok("transcription", "the provider answers" + ("" if models else "; it lists no models"))


def _models(response: httpx2.Response) -> set[str]:
    try:
        body: object = response.json()
    except (ValueError, RecursionError):
        return set()
    data = cast("dict[str, object]", body).get("data") if isinstance(body, dict) else None
    entries = cast("list[object]", data) if isinstance(data, list) else []
    ids = [cast("dict[str, object]", entry).get("id") for entry in entries if isinstance(entry, dict)]
    return {name for name in ids if isinstance(name, str)}


async def _probe() -> AsyncIterator[bytes]:
    yield _PROBE
