"""The chat inside another site's page: one script tag, under that page's own strict policy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from onevoice.entrypoints.http.feed import JournalFeed
from onevoice.store.database import Database
from tests.webchat_site import Site, serve

pytestmark = pytest.mark.browser

# A host page whose own style would ruin the chat if it could reach it.
_HOSTILE_CSS = "button, iframe { display: none !important } * { color: red !important; all: unset }"


@pytest.fixture
async def shop_url(database: Database, url: str) -> AsyncIterator[str]:
    """Another origin that includes the script and allows nothing but the chat's origin."""

    async def page(request: Request) -> Response:
        html = (
            f'<!doctype html><html lang="pt-BR"><link rel="stylesheet" href="/shop.css"><title>Loja</title>'
            f'<script src="{url}/chat/loja/embed.js" async></script><h1>Loja</h1></html>'
        )
        policy = f"default-src 'none'; style-src 'self'; script-src {url}; frame-src {url}"
        return HTMLResponse(html, headers={"content-security-policy": policy})

    async def style(request: Request) -> Response:
        return Response(_HOSTILE_CSS, media_type="text/css")

    app = Starlette(routes=[Route("/", page), Route("/shop.css", style)])
    async with serve(app, JournalFeed(database)) as shop_url:
        yield shop_url


@pytest.fixture
async def shop(browser: Browser, site: Site, shop_url: str) -> AsyncIterator[Page]:
    site.add_page(title="Padaria Aurora", color="#7a3ff2", language="pt", allowed_origins=(shop_url,))
    context = await browser.new_context(locale="pt-BR", viewport={"width": 1024, "height": 768})
    faults: list[str] = []
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on(
        "console",
        # The last test provokes a refused frame; in the others its absence would be noticed anyway.
        lambda entry: faults.append(entry.text) if _is_fault(entry.text) else None,
    )
    page = await context.new_page()
    await page.goto(shop_url)
    yield page
    await context.close()
    assert faults == []


def _is_fault(text: str) -> bool:
    return "Content Security Policy" in text and "frame-ancestors" not in text


async def test_the_launcher_opens_a_working_chat(site: Site, shop: Page) -> None:
    """One script tag gives a launcher, whose chat sends, receives, counts unread and closes by keyboard."""
    launcher = shop.get_by_role("button", name="Abrir o chat")
    await expect(launcher).to_be_visible()
    await expect(launcher).to_have_css("background-color", "rgb(122, 63, 242)")
    await expect(launcher).to_have_attribute("aria-expanded", "false")
    assert len(shop.frames) == 2
    assert shop.frames[1].url in {"", "about:blank"}
    await launcher.click()
    chat = shop.frame_locator("iframe[title='Padaria Aurora']")
    composer = chat.get_by_role("textbox", name="Mensagem")
    await expect(composer).to_be_focused()
    await composer.fill("de outro site")
    await composer.press("Enter")
    await expect(chat.get_by_role("img", name="Recebida")).to_be_visible()
    assert await site.texts() == ["de outro site"]

    await composer.press("Escape")
    await expect(launcher).to_be_focused()
    await expect(shop.locator("iframe")).to_be_hidden()
    conversation = await site.connection.fetchval("select id from conversation")
    await site.say(conversation, "Voltou?")
    await expect(launcher).to_contain_text("1")
    async with asyncio.timeout(10):
        while await site.outbound_states() != {"Voltou?": "delivered"}:
            pass
    await launcher.click()
    await expect(chat.get_by_role("log").locator(".bubble")).to_have_text(["de outro site", "Voltou?"])
    async with asyncio.timeout(10):
        while await site.outbound_states() != {"Voltou?": "read"}:
            pass
    await expect(shop.get_by_role("button", name="Fechar o chat").first).not_to_contain_text("1")


async def test_a_phone_shows_the_chat_on_the_whole_screen(shop: Page) -> None:
    """On a small screen the frame covers it, and the chat's own button closes it."""
    await shop.set_viewport_size({"width": 360, "height": 640})
    await shop.get_by_role("button", name="Abrir o chat").click()
    box = await shop.locator("iframe").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 360, "height": 640}
    await shop.frame_locator("iframe").get_by_role("button", name="Fechar o chat").click()

    await expect(shop.get_by_role("button", name="Abrir o chat")).to_be_visible()


async def test_a_site_that_is_not_allowed_gets_no_chat(site: Site, shop: Page) -> None:
    """The browser refuses to show the page inside an origin that the channel does not name."""
    site.add_page(title="Padaria Aurora", language="pt", allowed_origins=("https://elsewhere.example",))
    refused = asyncio.get_running_loop().create_future()
    shop.on("console", lambda entry: refused.done() or refused.set_result(entry.text))
    await shop.get_by_role("button", name="Abrir o chat").click()

    async with asyncio.timeout(10):
        assert "frame-ancestors" in await refused
    assert await shop.frame_locator("iframe").get_by_role("textbox").count() == 0
