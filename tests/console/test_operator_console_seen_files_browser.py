"""A customer's files in a real browser: heard while their words come, seen, and never in the way."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest
from playwright.async_api import Browser, expect

from onevoice.adapters.clock import SystemClock
from onevoice.entrypoints.operators import Operator
from onevoice.store.database import Database
from tests.console_browser import Open, operators_browsers, thread
from tests.console_site import ConsoleSite, console_site, serve_console

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

pytestmark = pytest.mark.browser

PATIENT: dict[str, object] = {"turns": {"debounce_seconds": 60.0, "max_wait_seconds": 120.0}}


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    """The console with workers, in real time; no turn is due while a test looks."""
    async with console_site(
        database, api_database, owner, clock=SystemClock(), works=True, settings=PATIENT
    ) as site:
        yield site


@pytest.fixture
async def open_as(browser: Browser, site: ConsoleSite) -> AsyncIterator[Open]:
    async with serve_console(site) as url, operators_browsers(browser, url) as open_page:
        yield open_page


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


async def test_an_audio_plays_on_while_its_words_come(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """Who listens already is not cut off by the transcript that appears below."""
    conversation = await site.waiting()
    words = site.transcriber.script("pra sexta de manhã", held=True)
    await site.send_file("[voice message]", _wav(seconds=60), type="audio")
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    player = page.get_by_label("Voice message from Ana Souza")
    await expect(thread(page).get_by_text("transcribing…")).to_be_visible()

    await player.evaluate("(audio) => { window.first = audio; return audio.play(); }")
    words.open()

    await expect(thread(page).get_by_text("pra sexta de manhã")).to_be_visible()
    await expect(thread(page).get_by_text("transcribing…")).to_have_count(0)
    heard = """(audio) => new Promise((resolve) => {
        const from = audio.currentTime;
        audio.addEventListener("timeupdate", () => {
            if (audio.currentTime > from) resolve(!audio.paused && audio === window.first);
        });
    })"""
    assert await player.evaluate(heard) is True


async def test_an_audio_that_nobody_understands_says_why(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """Silence is a state, and so is a file that the channel no longer has; both appear by themselves."""
    conversation = await site.waiting()
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    site.transcriber.script("")
    await site.send_file("[voice message]", _wav(seconds=1), type="audio")
    await site.send_file("[video]", None, type="video")

    await expect(thread(page).get_by_text("nobody speaks in this audio")).to_be_visible()
    await expect(thread(page).get_by_text("could not be downloaded: the channel")).to_be_visible()


async def test_a_picture_is_seen_and_opens(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """It comes after the page was drawn, and the thread still ends at its end."""
    conversation = await site.waiting()
    page = await open_as(
        "Ana Lima", f"/conversations/{conversation}", viewport={"width": 1000, "height": 500}
    )
    await site.send_file("[image] assim", _png(600, 400), type="image")

    picture = page.get_by_role("img", name="Image from Ana Souza: assim")
    await expect(picture).to_be_visible()
    await expect(picture).to_have_js_property("naturalWidth", 600)
    await expect(thread(page).get_by_text("unanswered").last).to_be_in_viewport()
    box = await picture.bounding_box()
    assert box is not None
    assert box["height"] <= 320
    async with page.context.expect_page() as opened:
        await picture.click()
    shown = await opened.value
    await shown.wait_for_load_state()
    await expect(shown.locator("img")).to_have_js_property("naturalWidth", 600)


async def test_a_picture_stays_the_same_element(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """A change of its message's state does not load it again."""
    conversation = await site.waiting()
    await site.send_file("[image]", _png(60, 40), type="image")
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    picture = page.get_by_role("img", name="Image from Ana Souza")
    await expect(picture).to_have_js_property("naturalWidth", 60)
    await picture.evaluate("(image) => { window.first = image; }")

    await site.rows.connection.execute(
        "update inbound_message set state = 'answered', state_reason = 'operator' where type = 'image'"
    )
    await site.write("oi")

    await expect(thread(page).get_by_text("unanswered")).to_have_count(2)
    assert await picture.evaluate("(image) => image === window.first") is True


@pytest.mark.parametrize("width", [320, 1440])
async def test_files_fit_from_a_small_phone_on(
    site: ConsoleSite, open_as: Open, ana: Operator, width: int
) -> None:
    """A wide picture, a player and a name without a space."""
    conversation = await site.waiting()
    name = f"{'umnomemuitolongo' * 10}.pdf"
    await site.send_file("[image]", _png(2000, 100), type="image")
    await site.send_file("[voice message]", _wav(seconds=1), type="audio")
    await site.send_file(f"[document: {name}]", b"%PDF-1.7\n", type="document", filename=name)
    page = await open_as(
        "Ana Lima", f"/conversations/{conversation}", viewport={"width": width, "height": 700}
    )

    await expect(thread(page).get_by_role("link", name=name)).to_be_attached()
    await expect(page.get_by_role("img", name="Image from")).to_have_js_property("naturalWidth", 2000)
    await expect(thread(page).get_by_text("transcribed words")).to_be_attached()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    scroller = page.get_by_role("region", name="Messages")
    assert await scroller.evaluate("(box) => box.scrollWidth <= box.clientWidth") is True


def _wav(*, seconds: int) -> bytes:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\x00\x10\x00\xf0" * (4000 * seconds))
    return content.getvalue()


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (b"\x00" + b"\x80" * width) * height
    return b"".join([
        b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""),
    ])  # fmt: skip
