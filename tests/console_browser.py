"""Operators' browsers on a served console: each signed in through the door, and none with an error in its page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.console_site import PASSWORD

Open = Callable[..., Awaitable[Page]]


@asynccontextmanager
async def operators_browsers(browser: Browser, url: str) -> AsyncGenerator[Open]:
    """A browser of one operator, signed in through the door; a script error or refused style fails the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    async def open_page(name: str, path: str = "", **options: object) -> Page:
        context = await browser.new_context(locale="en-US", **options)  # type: ignore[arg-type]
        contexts.append(context)
        context.on("weberror", lambda error: faults.append(str(error.error)))
        context.on(
            "console",
            lambda entry: faults.append(entry.text) if "Content Security Policy" in entry.text else None,
        )
        page = await context.new_page()
        await page.goto(f"{url}/console{path}")
        await page.get_by_label("Name", exact=True).fill(name)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.locator("#desk")).to_be_attached()
        return page

    yield open_page
    for context in contexts:
        await context.close()
    assert faults == []


def thread(page: Page) -> Locator:
    return page.get_by_role("region", name="Messages")
