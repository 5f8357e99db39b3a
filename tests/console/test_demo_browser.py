"""The first five minutes: `onevoice demo` as a newcomer starts it, and its chat page in a real browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.architecture.project import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(90)]

_TOKEN = "demo-token-of-the-test"
_BURST = ["oi", "queria marcar", "pra sexta", "de manhã se tiver"]
# The demo's window, its agent's thinking, and a busy machine.
_ANSWER_MS_MAX = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A running demo."""

    url: str

    async def timeline(self) -> list[dict[str, Any]]:
        """Of the conversation that was active last."""
        headers = {"authorization": f"Bearer {_TOKEN}"}
        async with httpx2.AsyncClient(
            base_url=f"{self.url}/api/v1", headers=headers, trust_env=False
        ) as http:
            newest = (await http.get("/conversations")).json()["items"][0]["id"]
            return (await http.get(f"/conversations/{newest}/timeline")).json()["items"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Started in an empty folder, stopped by Ctrl-C, which must end it without a trace."""
    folder = tmp_path_factory.mktemp("demo")
    out, err = folder / "out", folder / "err"
    with out.open("wb") as out_stream, err.open("wb") as err_stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "onevoice", "demo", "--port", "0"],
            cwd=folder,
            env={
                "PYTHONPATH": str(ROOT / "src"),
                "PATH": os.defpath,
                "ONEVOICE_API_TOKEN": _TOKEN,
            },
            stdin=subprocess.DEVNULL,
            stdout=out_stream,
            stderr=err_stream,
        )
    try:
        for _ in range(2000):
            if out.read_text().endswith("ready\n") or process.poll() is not None:
                break
            threading.Event().wait(0.02)
        lines = out.read_text().splitlines()
        assert lines[-1:] == ["ready"], err.read_text()
        yield Demo(url=lines[0].removeprefix("onevoice runs at "))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0, err.read_text()
        assert "Traceback" not in err.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A visitor nobody knows yet; an error of the page's script fails the test."""
    faults: list[str] = []
    context = await browser.new_context(locale="pt-BR")
    context.on("weberror", lambda error: faults.append(str(error.error)))
    yield context
    await context.close()
    assert faults == []


@pytest.fixture
async def page(context: BrowserContext, demo: Demo) -> Page:
    page = await context.new_page()
    await page.goto(f"{demo.url}/chat/demo")
    await expect(page.get_by_role("heading", name="Clínica Aurora")).to_be_visible()
    return page


def bubbles(page: Page) -> Locator:
    return page.get_by_role("log").locator(".bubble")


async def write(page: Page, *texts: str) -> None:
    composer = page.get_by_role("textbox", name="Mensagem")
    for text in texts:
        await composer.fill(text)
        await composer.press("Enter")


def _states(items: list[dict[str, Any]], kind: str) -> list[str]:
    return [item["state"] for item in items if item["kind"] == kind]


async def test_four_quick_messages_get_one_answer_with_a_reload_in_between(page: Page, demo: Demo) -> None:
    """Fragments, a reload, more fragments: one turn over all four, one answer."""
    await write(page, *_BURST[:2])
    await page.reload()
    await write(page, *_BURST[2:])

    await expect(bubbles(page)).to_have_count(5, timeout=_ANSWER_MS_MAX)
    await expect(bubbles(page).nth(4)).to_contain_text("sexta-feira")
    # Longer than another window and another call: a second answer would be here.
    await page.wait_for_timeout(5000)
    assert (await bubbles(page).all_inner_texts())[:4] == _BURST
    await expect(bubbles(page)).to_have_count(5)
    items = await demo.timeline()
    (turn,) = [item for item in items if item["kind"] == "turn"]
    assert (turn["state"], len(turn["messages"])) == ("sealed", 4)


async def test_a_correction_is_answered_and_the_first_thought_is_not(page: Page, demo: Demo) -> None:
    """The second thing to try: while it types about Friday, Saturday comes."""
    await write(page, "queria marcar", "pode ser sexta")
    await expect(page.locator("#typing")).not_to_be_empty(timeout=_ANSWER_MS_MAX)
    await write(page, "ah, na verdade pode ser sábado")

    await expect(bubbles(page)).to_have_count(4, timeout=_ANSWER_MS_MAX)
    await expect(bubbles(page).nth(3)).to_contain_text("sábado")
    await expect(bubbles(page).nth(3)).not_to_contain_text("sexta")
    assert "discarded" in _states(await demo.timeline(), "turn")


async def test_whoever_asks_for_a_human_gets_one_goodbye_and_then_silence(page: Page, demo: Demo) -> None:
    """The third thing to try: the AI hands over and answers no more."""
    await write(page, "quero falar com uma pessoa")
    await expect(bubbles(page)).to_have_count(2, timeout=_ANSWER_MS_MAX)
    await write(page, "tem alguém aí?")
    await page.wait_for_timeout(6000)

    await expect(bubbles(page)).to_have_count(3)
    assert _states(await demo.timeline(), "turn") == ["handoff"]
    assert _states(await demo.timeline(), "authority") == ["HANDOFF_PENDING"]


async def test_two_tabs_show_the_same_talk(page: Page, context: BrowserContext, demo: Demo) -> None:
    """What is written in either tab, and the answer, stand once in both."""
    other = await context.new_page()
    await other.goto(f"{demo.url}/chat/demo")
    await write(page, "oi")
    await expect(bubbles(other)).to_have_count(1)
    await write(other, "vocês aceitam pix?")

    for tab in (page, other):
        await expect(bubbles(tab)).to_have_count(3, timeout=_ANSWER_MS_MAX)
        assert (await bubbles(tab).all_inner_texts())[:2] == ["oi", "vocês aceitam pix?"]
        await expect(bubbles(tab).nth(2)).to_contain_text("PIX")


async def test_html_shows_as_text(page: Page) -> None:
    """Markup is what the visitor wrote, and nothing else."""
    markup = '<img src=x onerror="document.title=1"><b>oi</b>'
    await write(page, markup)

    await expect(bubbles(page).nth(0)).to_have_text(markup)
    await expect(bubbles(page)).to_have_count(2, timeout=_ANSWER_MS_MAX)
    await expect(bubbles(page).locator("b, img[src=x]")).to_have_count(0)
    assert await page.title() != "1"
