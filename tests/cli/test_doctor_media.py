"""What the doctor finds about files and words."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from onevoice.adapters.media.store import open_folder
from onevoice.entrypoints.doctor import Level
from onevoice.entrypoints.doctor.media import check_media, check_transcription, read_models
from tests.cli.command import PLANTED
from tests.cli.patient import graph, settings
from tests.contracts.bucket import BUCKET, KEY_ID, LoopbackBucket


async def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    """A file is written, read and deleted; looking makes no new folder."""
    absent = await check_media(settings(database={"data_dir": tmp_path}))
    assert not (tmp_path / "media").exists()
    open_folder(tmp_path / "media")
    present = await check_media(settings(database={"data_dir": tmp_path}))

    assert (absent.level, present.level) == (Level.OK, Level.OK)
    assert [path for path in (tmp_path / "media").rglob("*") if path.is_file()] == []


async def test_a_folder_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    """It names the place and what to look at."""
    (tmp_path / "media").write_text("")
    found = await check_media(settings(database={"data_dir": tmp_path}))

    assert found.level is Level.FAULT
    assert str(tmp_path / "media") in found.what
    assert found.act


@pytest.mark.parametrize(("key_id", "level"), [(KEY_ID, "ok"), ("AKIAOTHER", "fault")])
async def test_a_bucket_is_tried(key_id: str, level: str) -> None:
    """Wrong keys are found before the first customer's file is."""
    async with LoopbackBucket() as bucket:
        media = {
            "url": f"s3://{BUCKET}",
            "endpoint_url": bucket.url,
            "access_key_id": key_id,
            "secret_access_key": PLANTED,
        }
        found = await check_media(settings(media=media))

        assert found.level == level
        assert bucket.objects == {}
        assert PLANTED not in found.what + found.act


async def test_no_transcription_says_what_it_means() -> None:
    """It is no fault, and the next act is named."""
    found = await check_transcription(settings())

    assert found.level is Level.OK
    assert "transcription.url" in found.act


async def test_the_provider_is_asked_for_its_models(tmp_path: Path) -> None:
    """With the key, at the base of whatever form the URL has."""
    async with graph(200, {"data": [{"id": "gpt-transcribe"}]}) as provider:
        for url in (f"{provider.url}/v1", f"{provider.url}/v1/audio/transcriptions"):
            found = await check_transcription(settings(transcription={"url": url, "api_key": PLANTED}))
            assert found.level is Level.OK

    for head in provider.heads:
        assert head.startswith("GET /v1/models HTTP/1.1")
        assert f"Bearer {PLANTED}" in head


@pytest.mark.parametrize(
    ("status", "content", "level"),
    [
        (200, b'{"data":[{"id":"gpt-transcribe"},{"id":"x"}]}', "ok"),
        (200, b'{"data":[{"id":"x"}]}', "warning"),
        (200, b"<html>", "ok"),
        (200, b'{"data":7}', "ok"),
        (404, b"", "ok"),
        (401, b"", "fault"),
        (403, b"", "fault"),
        (503, b"", "warning"),
    ],
)
def test_each_answer_of_the_provider_has_its_sentence(status: int, content: bytes, level: str) -> None:
    """A server of one's own may list no models."""
    found = read_models(httpx2.Response(status, content=content), "gpt-transcribe")

    assert found.level == level
    assert bool(found.act) is (level != "ok")


async def test_a_provider_that_is_away_is_a_fault() -> None:
    """With what it means for customers until then."""
    found = await check_transcription(settings(transcription={"url": "http://127.0.0.1:9/v1"}))

    assert found.level is Level.FAULT
    assert "deadline" in found.act


async def test_a_key_is_not_sent_in_the_open() -> None:
    """Beyond this machine, without https, it is not even tried."""
    found = await check_transcription(
        settings(transcription={"url": "http://ears.example/v1", "api_key": PLANTED})
    )

    assert found.level is Level.WARNING
    assert PLANTED not in found.what + found.act


async def test_an_own_function_is_imported(tmp_path: Path) -> None:
    """As the agent's is."""
    (tmp_path / "doctors_ears.py").write_text("async def transcribe(audio):\n    return ''\n")
    good = settings(transcription={"use": "doctors_ears:transcribe"}).located_in(tmp_path)
    bad = settings(transcription={"use": "doctors_ears:listen"}).located_in(tmp_path)

    assert (await check_transcription(good)).level is Level.OK
    assert (await check_transcription(bad)).level is Level.FAULT
