"""Files and templates in the console, in a real browser and with the keyboard."""

from __future__ import annotations

import base64

import pytest
from playwright.async_api import Page, expect

from onevoice.entrypoints.operators import Operator
from onevoice.flow.authority.decide import Command
from tests.console.test_operator_console_browser import Open, ana, open_as, reply_field, site, thread, url
from tests.console_site import ConsoleSite

pytestmark = pytest.mark.browser

__all__ = ["ana", "open_as", "site", "url"]

# One black pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


async def held(site: ConsoleSite, open_as: Open, ana: Operator) -> Page:
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    return await open_as("Ana Lima", f"/conversations/{conversation}")


async def attach(page: Page, name: str = "mapa.png", content: bytes = PNG) -> None:
    await page.get_by_label("Attach a file").set_input_files(
        {"name": name, "mimeType": "image/png", "buffer": content}
    )


async def test_a_picture_is_attached_with_the_keyboard_and_sent(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """Chosen, named, taken away, chosen again, sent by Enter; then the field is empty again."""
    page = await held(site, open_as, ana)
    name = page.get_by_label("Attached file")
    await attach(page)
    await expect(name).to_have_value("mapa.png")
    await page.get_by_role("button", name="Take the file away").press("Enter")
    await expect(name).to_be_hidden()
    await attach(page)
    await expect(reply_field(page)).to_be_focused()
    await page.keyboard.press("Enter")

    picture = thread(page).get_by_role("img", name="mapa.png")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    await expect(name).to_be_hidden()
    assert [sent.payload["type"] for sent in site.channel.sent] == ["image"]


async def test_a_caption_goes_with_its_file_and_a_later_message_without(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """By the button; the file is not sent twice."""
    page = await held(site, open_as, ana)
    await attach(page)
    await expect(page.get_by_label("Attached file")).to_have_value("mapa.png")
    for text in ("o mapa", "e agora?"):
        await reply_field(page).fill(text)
        await page.get_by_role("button", name="Send", exact=True).click()
        await expect(reply_field(page)).to_have_value("")

    assert await site.sent_texts(2) == ["o mapa", "e agora?"]
    assert ["media" in sent.payload for sent in site.channel.sent] == [True, False]


async def test_a_file_that_is_refused_says_why(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """And nothing stays attached."""
    page = await held(site, open_as, ana)
    await attach(page, content=b"")

    await expect(page.get_by_role("alert")).to_have_text("The file is empty.")
    await expect(page.get_by_label("Attached file")).to_be_hidden()


async def test_a_template_is_sent_and_the_draft_stays(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """Enter in the template's own fields means the template, not the words above it."""
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    await site.rows.connection.execute(
        "update conversation set window_expires_at = now() - interval '1 hour'"
    )
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    await reply_field(page).fill("um rascunho")
    await page.get_by_label("Template's name").fill("retomar_conversa")
    await page.get_by_label("Values of its text").fill("Ana")
    await page.get_by_label("Template's name").press("Enter")

    await expect(thread(page)).to_contain_text("[template: retomar_conversa]")
    await expect(reply_field(page)).to_have_value("um rascunho")
    assert await site.sent_texts(1) == ["[template: retomar_conversa]"]
