"""What the business sends besides text, in a real browser."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.console.test_webchat_browser import bubbles, conversation_of, stored, write
from tests.webchat_site import Site

pytestmark = pytest.mark.browser

# One black pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A file that the policy refuses, and any script error, fails the test."""
    context = await browser.new_context(locale="pt-BR")
    faults: list[str] = []
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on(
        "console",
        lambda entry: faults.append(entry.text) if "Content Security Policy" in entry.text else None,
    )
    yield context
    await context.close()
    assert faults == []


@pytest.fixture
async def page(context: BrowserContext, url: str, site: Site) -> Page:
    page = await context.new_page()
    await page.goto(f"{url}/chat/loja")
    await write(page, "oi")
    await stored(site, ["oi"])
    return page


async def test_a_picture_is_shown_with_its_caption(site: Site, page: Page, context: BrowserContext) -> None:
    """In the bubble, with its name for those who hear the page."""
    media = await site.keep_file(PNG, "image/png")
    payload = {"type": "image", "media": str(media), "filename": "mapa.png", "caption": "o mapa"}
    await site.say(await conversation_of(site, context), "o mapa", payload=payload)
    picture = page.get_by_role("img", name="mapa.png")

    await expect(picture).to_be_visible()
    await expect(bubbles(page).last).to_have_text("o mapa")
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


async def test_a_document_is_a_link_and_a_voice_has_a_player(
    site: Site, page: Page, context: BrowserContext
) -> None:
    """A page that pretends to be a picture is a link as well; no words in brackets are left over."""
    conversation = await conversation_of(site, context)
    nota = await site.keep_file(b"%PDF-1.4", "application/pdf", kind="document")
    voz = await site.keep_file(b"OggS", "audio/ogg", kind="audio")
    trick = await site.keep_file(b"<script>alert(1)</script>", "text/html", kind="image")
    for type_, media, name in (
        ("document", nota, "nota.pdf"),
        ("audio", voz, None),
        ("image", trick, "x.png"),
    ):
        payload = {"type": type_, "media": str(media)} | ({"filename": name} if name else {})
        await site.say(conversation, f"[{type_}]", payload=payload)

    await expect(page.get_by_role("link", name="nota.pdf")).to_be_visible()
    await expect(page.get_by_role("link", name="x.png")).to_be_visible()
    await expect(page.get_by_label("Áudio")).to_be_visible()
    await expect(page.get_by_role("log")).not_to_contain_text("[")


async def test_a_choice_is_tapped_once(site: Site, page: Page, context: BrowserContext) -> None:
    """With the keyboard too: it is said in the visitor's name, and the question is over."""
    payload = {"type": "buttons", "buttons": [{"id": "s", "title": "Sim"}, {"id": "n", "title": "Não"}]}
    await site.say(await conversation_of(site, context), "Confirma?", payload=payload)
    yes = page.get_by_role("button", name="Sim")
    await yes.focus()
    await page.keyboard.press("Enter")

    await expect(bubbles(page)).to_have_text(["oi", "Confirma?", "Sim"])
    await expect(yes).to_be_hidden()
    await stored(site, ["oi", "Sim"])


async def test_a_menu_is_a_row_of_choices(site: Site, page: Page, context: BrowserContext) -> None:
    """Of all its sections."""
    sections = [
        {"title": "Quinta", "rows": [{"id": "1", "title": "10h"}]},
        {"rows": [{"id": "2", "title": "11h"}]},
    ]
    payload = {"type": "menu", "button": "Ver", "sections": sections}
    await site.say(await conversation_of(site, context), "Escolha", payload=payload)

    for title in ("10h", "11h"):
        await expect(page.get_by_role("button", name=title)).to_be_visible()
