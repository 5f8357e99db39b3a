"""The chat page in a real browser: what a visitor sees and hears, and what the database holds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Literal
from uuid import UUID

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.webchat_site import Site

pytestmark = pytest.mark.browser


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """One visitor's browser; a script error or a refused inline style fails the test."""
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
async def page(context: BrowserContext, url: str) -> Page:
    page = await context.new_page()
    await page.goto(f"{url}/chat/loja")
    return page


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Mensagem")


def bubbles(page: Page) -> Locator:
    return page.get_by_role("log").locator(".bubble")


async def write(page: Page, *texts: str) -> None:
    for text in texts:
        await composer(page).fill(text)
        await composer(page).press("Enter")


async def conversation_of(site: Site, context: BrowserContext) -> UUID:
    values = {cookie["name"]: cookie["value"] for cookie in await context.cookies()}
    return await site.conversation(values["onevoice_visitor_loja"].partition(".")[0])


async def stored(site: Site, texts: list[str]) -> None:
    """Wait until exactly these texts are stored."""
    async with asyncio.timeout(10):
        while await site.texts() != texts:
            pass
    assert await site.texts() == texts


BURST = ["oi", "queria marcar", "pra sexta", "de manhã se tiver"]


async def test_four_quick_messages_show_once_and_survive_a_reload(site: Site, page: Page) -> None:
    """A burst is shown and stored once, in order, before and after reloading in the middle of it."""
    await write(page, *BURST[:2])
    await page.reload()
    await write(page, *BURST[2:])

    await expect(bubbles(page)).to_have_text(BURST)
    await stored(site, BURST)
    await page.reload()
    await expect(bubbles(page)).to_have_text(BURST)
    await expect(page.get_by_role("img", name="Recebida")).to_have_count(4)
    assert await site.texts() == BURST


async def test_a_message_written_offline_survives_a_reload(
    site: Site, page: Page, context: BrowserContext
) -> None:
    """Offline it waits, and says so; it goes out once when the network is back, even after the tab was closed."""
    await write(page, "antes")
    await stored(site, ["antes"])
    await context.set_offline(True)
    await expect(page.get_by_role("status").filter(has_text="Sem conexão")).to_be_visible()
    await write(page, "durante")
    await expect(page.get_by_role("img", name="Enviando")).to_be_visible()
    address = page.url
    await page.close()
    await context.set_offline(False)
    again = await context.new_page()
    await again.goto(address)

    await expect(bubbles(again)).to_have_text(["antes", "durante"])
    await stored(site, ["antes", "durante"])
    await expect(again.get_by_role("img", name="Enviando")).to_have_count(0)


async def test_an_answer_that_was_lost_doubles_nothing(site: Site, page: Page) -> None:
    """When the message was stored and only its answer was lost, the retry is the same message."""
    lost = 0

    async def lose_the_first_answer(route: object) -> None:
        nonlocal lost
        lost += 1
        if lost == 1:
            await route.fetch()  # type: ignore[attr-defined]
            await route.abort()  # type: ignore[attr-defined]
        else:
            await route.continue_()  # type: ignore[attr-defined]

    await page.route("**/messages", lose_the_first_answer)
    await write(page, "só uma vez")

    await expect(page.get_by_role("img", name="Recebida")).to_have_count(1)
    await expect(bubbles(page)).to_have_text(["só uma vez"])
    assert lost == 2
    assert await site.texts() == ["só uma vez"]


async def test_an_outage_is_waited_out(site: Site, page: Page) -> None:
    """While the server cannot store, the message waits in the page and leaves it afterwards."""
    site.is_down = True
    await write(page, "um", "dois")
    await expect(page.get_by_role("status").filter(has_text="Tentando de novo")).to_be_visible()
    site.is_down = False

    await stored(site, ["um", "dois"])
    await expect(page.get_by_role("img", name="Recebida")).to_have_count(2)
    await expect(page.get_by_role("status").filter(has_text="Tentando de novo")).to_be_hidden()


async def test_two_tabs_show_the_same(site: Site, page: Page, context: BrowserContext) -> None:
    """What one tab writes, the other shows, also when it was open before the conversation began."""
    other = await context.new_page()
    await other.goto(page.url)
    await write(page, "da primeira")
    await expect(bubbles(other)).to_have_text(["da primeira"])
    await write(other, "da segunda")
    await stored(site, ["da primeira", "da segunda"])
    conversation = await conversation_of(site, context)
    await site.say(conversation, "Olá às duas!", author="operator")

    for tab in (page, other):
        await expect(bubbles(tab)).to_have_text(["da primeira", "da segunda", "Olá às duas!"])
    assert await site.texts() == ["da primeira", "da segunda"]


async def test_text_stays_text(site: Site, page: Page, context: BrowserContext) -> None:
    """Markup in a message is shown as it was written, whoever wrote it; only the business's links are links."""
    markup = '<img src=x onerror="document.title=1"> <b>https://a.example</b>'
    await write(page, markup)
    await expect(bubbles(page).first).to_have_text(markup)
    conversation = await conversation_of(site, context)
    await site.say(conversation, f"{markup} javascript:alert(1) https://b.example/c?d=1.")

    await expect(bubbles(page).last).to_contain_text("<b>")
    links = await bubbles(page).get_by_role("link").evaluate_all("links => links.map(link => link.href)")
    assert links == ["https://a.example/", "https://b.example/c?d=1"]
    assert await bubbles(page).locator("b, img, script").count() == 0


async def test_a_reply_is_typed_shown_and_read(site: Site, page: Page, context: BrowserContext) -> None:
    """Typing shows while a turn runs; the reply is acknowledged as read once it was on the screen."""
    await write(page, "oi")
    await expect(page.get_by_role("img", name="Recebida")).to_be_visible()
    conversation = await conversation_of(site, context)
    await site.think(conversation, is_thinking=True)
    await expect(page.get_by_role("status").filter(has_text="Digitando")).to_be_visible()
    held = await site.say(conversation, "Bom dia!", state="due")
    await site.think(conversation, is_thinking=False)
    await expect(bubbles(page)).to_have_text(["oi"])
    await site.change("outbound_message", held, conversation, state="sent")

    await expect(bubbles(page)).to_have_text(["oi", "Bom dia!"])
    await expect(page.get_by_role("status").filter(has_text="Digitando")).to_have_count(0)
    async with asyncio.timeout(10):
        while await site.outbound_states() != {"Bom dia!": "read"}:
            pass


async def test_who_reads_further_up_is_not_pulled_down(
    site: Site, page: Page, context: BrowserContext
) -> None:
    """A new message below is announced on a button; it counts as delivered until the visitor goes there."""
    await write(page, "oi")
    await expect(page.get_by_role("img", name="Recebida")).to_be_visible()
    conversation = await conversation_of(site, context)
    for number in range(30):
        await site.say(conversation, f"linha {number}", state="read")
    await expect(bubbles(page)).to_have_count(31)
    await page.get_by_role("region", name="Conversa").evaluate("region => { region.scrollTop = 0; }")
    await expect(page.get_by_role("button", name="Ir para o fim")).to_be_visible()
    await site.say(conversation, "lá embaixo")
    button = page.get_by_role("button", name="1 mensagem nova")
    await expect(button).to_be_visible()
    async with asyncio.timeout(10):
        while (await site.outbound_states())["lá embaixo"] != "delivered":
            pass
    await button.click()

    await expect(bubbles(page).last).to_be_in_viewport()
    await expect(button).to_be_hidden()
    async with asyncio.timeout(10):
        while (await site.outbound_states())["lá embaixo"] != "read":
            pass


async def test_earlier_messages_are_fetched_on_request(
    site: Site, page: Page, context: BrowserContext
) -> None:
    """A long conversation opens at its end; the rest comes when it is asked for, in its place."""
    await write(page, "oi")
    await expect(page.get_by_role("img", name="Recebida")).to_be_visible()
    conversation = await conversation_of(site, context)
    for number in range(150):
        await site.say(conversation, f"linha {number}", state="read")
    await page.reload()
    await expect(bubbles(page)).to_have_count(100)
    await page.get_by_role("button", name="Mostrar mensagens anteriores").click()

    await expect(bubbles(page)).to_have_text(["oi", *(f"linha {number}" for number in range(150))])
    await expect(page.get_by_role("button", name="Mostrar mensagens anteriores")).to_be_hidden()


async def test_the_keyboard_is_enough(site: Site, page: Page) -> None:
    """Enter sends, Shift and Enter breaks the line, an empty message is not sent, and the focus stays."""
    await page.get_by_role("textbox", name="Seu nome").fill("Ana")
    await page.keyboard.press("Tab")
    await expect(composer(page)).to_be_focused()
    await page.keyboard.type("uma linha")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("outra")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await page.keyboard.type("e mais uma")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Enviar")).to_be_focused()
    await page.keyboard.press("Enter")

    await stored(site, ["uma linha\noutra", "e mais uma"])
    await expect(composer(page)).to_be_focused()
    await expect(page.get_by_role("textbox", name="Seu nome")).to_be_hidden()
    assert await site.connection.fetchval("select contact_name from conversation") == "Ana"


async def test_a_draft_survives_a_reload(page: Page) -> None:
    """What was typed and not sent is still there."""
    await composer(page).fill("quase pronto")
    await page.reload()

    await expect(composer(page)).to_have_value("quase pronto")


async def test_a_refused_message_says_so(site: Site, page: Page) -> None:
    """A message the server will never take is marked; the visitor may discard it, and the next one goes out."""

    async def refuse(route: object) -> None:
        await route.fulfill(status=422, json={"error": "text_empty", "message": "No."})  # type: ignore[attr-defined]

    await page.route("**/messages", refuse)
    await write(page, "recusada")
    await expect(page.get_by_role("img", name="Não enviada")).to_be_visible()
    await page.unroute("**/messages")
    await write(page, "aceita")
    await stored(site, ["aceita"])
    await page.get_by_role("button", name="Descartar").click()

    await expect(bubbles(page)).to_have_text(["aceita"])


async def test_a_lost_cookie_is_renewed(site: Site, page: Page, context: BrowserContext) -> None:
    """A browser that lost its cookie gets a new one, and the message still goes out."""
    await context.clear_cookies()
    await write(page, "ainda aqui")

    await stored(site, ["ainda aqui"])
    await expect(page.get_by_role("img", name="Recebida")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
async def test_everything_has_a_name_and_can_be_read(
    site: Site, browser: Browser, url: str, scheme: Literal["light", "dark"], width: int
) -> None:
    """Controls have names and a finger's size, text has contrast, nothing needs sideways scrolling."""
    context = await browser.new_context(
        locale="pt-BR", color_scheme=scheme, viewport={"width": width, "height": 640}, reduced_motion="reduce"
    )
    page = await context.new_page()
    await page.goto(f"{url}/chat/loja")
    await write(page, "palavra" * 30)
    await expect(page.get_by_role("img", name="Recebida")).to_be_visible()
    await site.say(await conversation_of(site, context), "https://b.example/" + "x" * 200)
    await expect(bubbles(page)).to_have_count(2)

    await expect(page.locator("html")).to_have_attribute("lang", "pt-BR")
    await expect(page.get_by_role("heading", name="Padaria Aurora", level=1)).to_be_visible()
    await expect(page.get_by_role("log")).to_have_attribute("aria-live", "polite")
    await expect(page.get_by_role("main")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await page.evaluate(_UNNAMED) == []
    assert await page.evaluate(_TOO_SMALL) == []
    contrasts: dict[str, float] = await page.evaluate(_CONTRASTS)
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}
    assert len(contrasts) >= 8
    assert (
        await page.locator(".bubble").first.evaluate("element => getComputedStyle(element).animationName")
        == "none"
    )
    await context.close()


async def test_english_for_who_reads_english(browser: Browser, site: Site, url: str) -> None:
    """With the language left to the browser, an English one gets English words."""
    site.add_page(title="Aurora Bakery")
    context = await browser.new_context(locale="en-GB")
    page = await context.new_page()
    await page.goto(f"{url}/chat/loja")

    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await expect(page.get_by_text("How can we help?")).to_be_visible()
    assert not re.search(r"Olá|Seu nome", await page.inner_text("body"))
    await context.close()


_UNNAMED = """() => [...document.querySelectorAll("button, textarea, input, a")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.ariaLabel || element.labels?.[0]?.textContent.trim()
    || element.textContent.trim()))
  .map((element) => element.outerHTML)"""

_TOO_SMALL = """() => [...document.querySelectorAll(".round, textarea, input, .pill")]
  .filter((element) => element.checkVisibility())
  .filter((element) => element.getBoundingClientRect().height < 36)
  .map((element) => element.outerHTML)"""

# The WCAG contrast of every visible text with the nearest painted background behind it.
_CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => rgba(color).slice(0, 3)
    .map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    while (element && rgba(getComputedStyle(element).backgroundColor)[3] < 255) element = element.parentElement;
    return getComputedStyle(element ?? document.body).backgroundColor;
  };
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility() || element.closest(".unseen, noscript")) continue;
    const [one, two] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort();
    found[text.slice(0, 20) + " in " + (element.className || element.tagName)] = (two + 0.05) / (one + 0.05);
  }
  return found;
}"""
