"""Files that come with messages: fetched at once and durably, or a marked part of the burst."""

from __future__ import annotations

import hashlib

import pytest

from onevoice.errors import MediaUnavailable
from onevoice.flow.media.decide import LEASE_SECONDS, TRIES_MAX, media_key
from onevoice.flow.media.perform import renew_downloads
from onevoice.flow.proposal.decide import NOT_AVAILABLE, STILL_COMING
from onevoice.vocabulary import AccountId, MediaState
from tests.perform.stage import Stage

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(500)


async def _image(stage: Stage, text: str = "[image] a etiqueta", **media: object) -> None:
    await stage.customer(
        text, type="image", media={"kind": "image", "id": "photo", "mime_type": "image/jpeg", **media}
    )


async def _media(stage: Stage) -> dict[str, object]:
    (row,) = await stage.rows("media")
    return dict(row)


def _shown(stage: Stage) -> list[list[str | None]]:
    return [[message.text for message in context.messages] for context in stage.agent.contexts]


async def test_a_file_is_kept_with_what_its_bytes_are(stage: Stage) -> None:
    """Type, size and digest are measured; what the sender claimed decides nothing."""
    stage.channel.files["photo"] = JPEG
    await _image(stage, mime_type="text/plain", sha256=hashlib.sha256(JPEG).hexdigest())
    await stage.after(5.0)

    row = await _media(stage)
    assert (row["state"], row["mime_type"], row["size_bytes"]) == ("stored", "image/jpeg", len(JPEG))
    assert row["sha256"] == hashlib.sha256(JPEG).digest()
    assert list(stage.files.files.values()) == [JPEG]
    (message,) = stage.agent.contexts[0].messages
    assert message.text == "[image] a etiqueta"
    assert message.media is not None
    assert (message.media.state, message.media.mime_type) == (MediaState.STORED, "image/jpeg")


async def test_a_turn_waits_for_the_first_try_of_a_download(stage: Stage) -> None:
    """The window has passed, the file is under way: the turn is not due before it is there."""
    stage.channel.files["photo"] = JPEG
    await _image(stage)
    (download,) = await stage.downloads()
    await stage.clock.advance(6.0)
    assert await stage.claim() == []

    await stage.download(download)

    assert len(await stage.claim()) == 1


async def test_the_wait_for_a_file_has_an_end(stage: Stage) -> None:
    """A download that nobody finishes is a part that says so, after the deadline."""
    await _image(stage)
    await stage.downloads()
    await stage.clock.advance(29.9)
    assert await stage.claim() == []
    await stage.clock.advance(0.1)
    for turn in await stage.claim():
        await stage.answer(turn)

    assert _shown(stage) == [[f"[image] a etiqueta {STILL_COMING}"]]


async def test_what_cannot_be_had_is_a_marked_part(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """The channel no longer has it: the turn goes on at once, with its reason in the row, the journal and the log."""
    await _image(stage)
    await stage.after(5.0)

    assert _shown(stage) == [[f"[image] a etiqueta {NOT_AVAILABLE}"]]
    row = await _media(stage)
    assert (row["state"], row["reason"]) == ("failed", "gone")
    entries = [row for row in await stage.rows("journal") if row["kind"] == "media"]
    assert [(entry["state"], entry["reason"]) for entry in entries] == [("failed", "gone")]
    (line,) = caplog.records
    assert (line.getMessage(), vars(line)["media_id"], vars(line)["reason"]) == (
        "a file cannot be had", str(row["id"]), "gone",
    )  # fmt: skip


async def test_a_failed_try_frees_the_turn_and_goes_on_by_itself(stage: Stage) -> None:
    """An image is answered without it after one failed try; the file still comes in."""
    stage.channel.files["photo"] = MediaUnavailable("graph_unavailable")
    await _image(stage)
    await stage.after(5.0)
    assert len(stage.agent.contexts) == 1

    stage.channel.files["photo"] = JPEG
    await stage.after(4.0)

    assert (await _media(stage))["state"] == "stored"


async def test_trying_has_an_end(stage: Stage) -> None:
    """So many failures in a row would block the number's downloads."""
    stage.channel.files["photo"] = MediaUnavailable("graph_unavailable")
    await _image(stage)
    for _ in range(TRIES_MAX):
        await stage.after(3600.0)

    assert len(stage.channel.downloads) == TRIES_MAX
    assert (await _media(stage))["reason"] == "graph_unavailable"


async def test_a_process_that_dies_in_a_download_loses_nothing(stage: Stage) -> None:
    """The lease runs out and another process fetches the file; a live one renews its own."""
    stage.channel.files["photo"] = JPEG
    await _image(stage)
    (download,) = await stage.downloads()
    await stage.clock.advance(LEASE_SECONDS - 1)
    await renew_downloads(stage.runtime, [download])
    await stage.clock.advance(LEASE_SECONDS - 1)
    assert await stage.downloads() == []
    await stage.clock.advance(1.0)
    (again,) = await stage.downloads()
    await stage.download(again)
    await stage.download(download)

    assert again.try_count == 2
    assert (await _media(stage))["state"] == "stored"
    assert [row["state"] for row in await stage.rows("journal") if row["kind"] == "media"] == ["stored"]


@pytest.mark.parametrize(
    ("content", "claim", "reason"),
    [
        (b"<!DOCTYPE html><html><body>log in</body></html>", {}, "type_differs"),
        (JPEG, {"sha256": "00" * 32}, "digest_differs"),
        (b"", {}, "empty"),
    ],
)
async def test_what_is_not_the_file_is_not_kept(
    stage: Stage, content: bytes, claim: dict[str, object], reason: str
) -> None:
    """A login page, another file, nothing: refused, and no bytes of it stay."""
    stage.channel.files["photo"] = content
    await _image(stage, **claim)
    await stage.after(5.0)

    row = await _media(stage)
    assert (row["state"], row["reason"]) in {("failed", reason), ("waiting", reason)}
    assert stage.files.files == {}


async def test_a_store_that_is_away_is_tried_again(stage: Stage) -> None:
    """Nothing is lost while the disk or the bucket is away."""
    stage.channel.files["photo"] = JPEG
    stage.files.is_away = True
    await _image(stage)
    await stage.after(5.0)
    assert (await _media(stage))["reason"] == "store_unavailable"

    stage.files.is_away = False
    await stage.after(10.0)

    row = await _media(stage)
    assert row["state"] == "stored"
    key = media_key(AccountId("default"), row["id"])
    assert stage.files.files[key] == JPEG


async def test_the_same_webhook_again_downloads_nothing_twice(stage: Stage) -> None:
    """A redelivered message has its file already."""
    stage.channel.files["photo"] = JPEG
    for _ in range(2):
        await stage.customer("[image]", id="same", type="image", media={"kind": "image", "id": "photo"})
    await stage.after(5.0)

    assert len(stage.channel.downloads) == 1
    assert len(await stage.rows("media")) == 1
