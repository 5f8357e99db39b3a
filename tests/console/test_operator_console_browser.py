"""The console in a real browser, with the loops of a process behind it: what two operators see and may do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import asyncpg
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from onevoice.adapters.clock import SystemClock
from onevoice.entrypoints.operators import Operator, Role
from onevoice.flow.authority.decide import Command
from onevoice.store.database import Database
from onevoice.testing.gate import Gate
from tests.console_browser import Open, operators_browsers, thread
from tests.console_site import PASSWORD, ConsoleSite, console_site, serve_console

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

pytestmark = pytest.mark.browser


@pytest.fixture
async def site(database: Database, api_database: Database, owner: Connection) -> AsyncIterator[ConsoleSite]:
    """The console with workers, in real time. A burst ends late: the tests decide who answers before the agent does."""
    patient: dict[str, object] = {
        "turns": {"debounce_seconds": 60.0, "max_wait_seconds": 120.0},
        "outbox": {"part_interval_seconds": 0.0, "send_timeout_seconds": 30.0},
    }
    async with console_site(
        database, api_database, owner, clock=SystemClock(), works=True, settings=patient
    ) as site:
        yield site


@pytest.fixture
async def url(site: ConsoleSite) -> AsyncIterator[str]:
    async with serve_console(site) as url:
        yield url


@pytest.fixture
async def open_as(browser: Browser, url: str) -> AsyncIterator[Open]:
    async with operators_browsers(browser, url) as open_page:
        yield open_page


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


@pytest.fixture
async def rui(site: ConsoleSite) -> Operator:
    return await site.operator("Rui")


def reply_field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message to")


def banner(page: Page) -> Locator:
    return page.get_by_role("region", name="State")


async def test_from_the_list_to_the_customer(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """Sign in, open who waits, take, reply, see it sent, release."""
    conversation = await site.waiting()
    page = await open_as("Ana Lima")

    await page.get_by_role("link", name="Ana Souza").click()
    await expect(page.get_by_role("heading", name="Ana Souza", level=1)).to_be_visible()
    await expect(reply_field(page)).to_be_disabled()
    await page.get_by_role("button", name="Take over").click()
    await expect(banner(page)).to_contain_text("You answer")
    await reply_field(page).fill("Olá, já vejo isso.")
    await page.get_by_role("button", name="Send", exact=True).click()

    await expect(thread(page)).to_contain_text("Olá, já vejo isso.")
    await expect(reply_field(page)).to_have_value("")
    assert await site.sent_texts(1) == ["Olá, já vejo isso."]
    await expect(thread(page).get_by_text("Sent", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Release to the AI").click()
    await expect(banner(page)).to_contain_text("The AI answers")
    await expect(reply_field(page)).to_be_disabled()
    assert await site.authority(conversation) == ("AI_ACTIVE", None)


async def test_two_operators_in_two_browsers(
    site: ConsoleSite, open_as: Open, ana: Operator, rui: Operator
) -> None:
    """One takes: the other's page says who, without being touched; a click on a page that has not heard it yet is
    refused in place, with the holder's name."""
    conversation = await site.waiting()
    path = f"/conversations/{conversation}"
    first, second, stale = (
        await open_as("Ana Lima", path),
        await open_as("Rui", path),
        await open_as("Rui", path),
    )
    # This one is cut off from what happens, until its click.
    await stale.route(
        "**/console/**", lambda route: route.abort() if route.request.method == "GET" else route.continue_()
    )

    await first.get_by_role("button", name="Take over").click()
    await expect(banner(first)).to_contain_text("You answer")

    await expect(banner(second)).to_contain_text("With Ana Lima")
    await expect(second.get_by_text("Only Ana Lima may reply.")).to_be_visible()
    await expect(second.get_by_role("button", name="Take over")).to_have_count(0)
    await stale.get_by_role("button", name="Take over").click()
    await expect(stale.get_by_role("alert")).to_have_text(
        "Ana Lima holds this conversation already. Nothing was changed."
    )
    await expect(banner(stale)).to_contain_text("With Ana Lima")
    assert await site.authority(conversation) == ("HUMAN_ACTIVE", ana.id)


async def test_a_new_message_appears_and_the_draft_stays(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """What the customer writes shows at once, is announced, and takes neither words nor cursor from the writer."""
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    await reply_field(page).fill("estou escrevendo")
    await reply_field(page).evaluate("field => field.setSelectionRange(5, 5)")

    await site.write("mais uma coisa")

    await expect(thread(page)).to_contain_text("mais uma coisa")
    await expect(page.get_by_role("status").filter(has_text="New message from Ana Souza")).to_be_attached()
    await expect(reply_field(page)).to_have_value("estou escrevendo")
    await expect(reply_field(page)).to_be_focused()
    assert await reply_field(page).evaluate("field => field.selectionStart") == 5


async def test_a_draft_survives_leaving_and_reloading(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """Each conversation keeps its own words, while another one is open and after a reload."""
    one = await site.waiting()
    two = await site.waiting(contact="bia", name="Bia")
    for conversation in (one, two):
        await site.command(conversation, Command.TAKE, ana)
    page = await open_as("Ana Lima", f"/conversations/{one}?tab=mine")
    await reply_field(page).fill("para a Ana")
    await page.get_by_role("link", name="Bia").click()
    await expect(page.get_by_role("heading", name="Bia", level=1)).to_be_visible()
    await expect(reply_field(page)).to_have_value("")
    await reply_field(page).fill("para a Bia")
    await page.reload()
    await expect(reply_field(page)).to_have_value("para a Bia")
    await page.go_back()

    await expect(page.get_by_role("heading", name="Ana Souza", level=1)).to_be_visible()
    await expect(reply_field(page)).to_have_value("para a Ana")


async def test_a_double_click_sends_once(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """Two clicks, and a repetition after an answer that was lost, are one message."""
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    await reply_field(page).fill("uma vez")
    await page.get_by_role("button", name="Send", exact=True).dblclick()
    await expect(reply_field(page)).to_have_value("")
    assert await site.sent_texts(1) == ["uma vez"]
    lost = 0

    async def lose_the_first_answer(route: object) -> None:
        nonlocal lost
        lost += 1
        if lost == 1:
            await route.fetch()  # type: ignore[attr-defined]
            await route.abort()  # type: ignore[attr-defined]
        else:
            await route.continue_()  # type: ignore[attr-defined]

    await page.route("**/messages*", lose_the_first_answer)
    await reply_field(page).fill("e esta")
    await reply_field(page).press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("Your text is kept")
    await expect(reply_field(page)).to_have_value("e esta")
    await reply_field(page).press("Enter")
    await expect(reply_field(page)).to_have_value("")

    assert lost == 2
    await reply_field(page).fill("fim")
    await reply_field(page).press("Enter")
    assert await site.sent_texts(3) == ["uma vez", "e esta", "fim"]


async def test_the_keyboard_is_enough(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """Skip link, list, take, Enter, a line break, a note with Ctrl and Enter, a menu closed by Escape."""
    await site.waiting()
    page = await open_as("Ana Lima")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the conversation")).to_be_focused()
    await page.get_by_role("link", name="Ana Souza").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await expect(page.get_by_role("button", name="Take over")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Take over")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(banner(page)).to_contain_text("You answer")
    await reply_field(page).focus()
    await page.keyboard.type("linha um")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("linha dois")
    await page.keyboard.press("Enter")
    assert await site.sent_texts(1) == ["linha um\nlinha dois"]
    await page.keyboard.press("Enter")
    await page.get_by_role("radio", name="Reply").focus()
    await page.keyboard.press("ArrowRight")
    await page.get_by_role("textbox", name="Internal note").fill("só nosso")
    await page.keyboard.press("Control+Enter")
    await expect(thread(page)).to_contain_text("só nosso")
    await page.get_by_text("More actions").click()
    await expect(page.get_by_role("button", name="Suspend the AI")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Suspend the AI")).to_be_hidden()

    assert len(site.channel.sent) == 1


async def test_customer_text_is_text(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """Markup runs nothing and looks as it was written, when the page loads and when it arrives later."""
    evil = '<img src=x onerror="document.title=1"> <b>oi</b>'
    conversation = await site.waiting(evil, contact="eva", name="<i>Eva</i>")
    page = await open_as("Ana Lima", f"/conversations/{conversation}")
    await site.write(f"{evil} de novo", contact="eva", name="<i>Eva</i>")

    await expect(thread(page)).to_contain_text(f"{evil} de novo")
    await expect(page.get_by_role("heading", name="<i>Eva</i>", level=1)).to_be_visible()
    assert await page.locator("#items img, #items b, #items script, #list i").count() == 0
    assert await page.title() == "(1) <i>Eva</i> · onevoice"


async def test_the_title_and_the_list_follow(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """Somebody who begins to wait shows in the list and counts in the title, until they are taken."""
    page = await open_as("Ana Lima")
    await expect(page.get_by_text("Nobody is waiting.")).to_be_visible()

    conversation = await site.waiting()

    await expect(page.get_by_role("link", name="Ana Souza")).to_be_visible()
    await expect(page).to_have_title("(1) Console · onevoice")
    await site.command(conversation, Command.TAKE, ana)
    await expect(page.get_by_text("Nobody is waiting.")).to_be_visible()


@pytest.fixture
def held_send(site: ConsoleSite) -> Iterator[Gate]:
    """The next call of the channel hangs until the gate is opened, at the test's end at the latest."""
    gate = site.channel.script(held=True)
    yield gate
    gate.open()


async def test_taking_while_the_ai_sends(
    site: ConsoleSite, open_as: Open, ana: Operator, held_send: Gate
) -> None:
    """The takeover waits for what is on the wire and says so; a reply written meanwhile leaves afterwards."""
    conversation = await site.write("oi")
    await site.rows.connection.execute("update conversation set turn_due_at = clock_timestamp()")
    await site.channel.called(1)
    page = await open_as("Ana Lima", f"/conversations/{conversation}")

    await page.get_by_role("button", name="Take over").click()
    await expect(banner(page)).to_contain_text("Waiting for 1 send or action of the AI in flight")
    await reply_field(page).fill("deixa comigo")
    await reply_field(page).press("Enter")
    await expect(thread(page)).to_contain_text("leaves once your takeover is confirmed")
    assert await site.sent_texts(1) == ["Certo!"]
    held_send.open()

    await expect(banner(page)).to_contain_text("You answer")
    assert await site.sent_texts(2) == ["Certo!", "deixa comigo"]


async def test_a_revoked_reply_is_sent_as_ones_own(site: ConsoleSite, open_as: Open, ana: Operator) -> None:
    """What the AI was about to say is shown as revoked, with one button to say it oneself."""
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    message = await site.rows.connection.fetchval("select id from inbound_message limit 1")
    turn = await site.rows.turn(conversation, [message])
    await site.rows.outbound(
        conversation,
        author="ai",
        turn_id=turn,
        state="revoked",
        reason="authority_revoked",
        text="Temos às 9h.",
    )
    page = await open_as("Ana Lima", f"/conversations/{conversation}")

    await page.get_by_role("button", name="Send as mine").click()

    assert await site.sent_texts(1) == ["Temos às 9h."]
    await expect(thread(page).get_by_text("Sent", exact=True)).to_be_visible()


async def test_an_ended_session_leads_to_the_door_and_back(
    site: ConsoleSite, open_as: Open, ana: Operator
) -> None:
    """The page that hears of it goes to sign in; afterwards its reader is where they were, with their draft."""
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, ana)
    page = await open_as("Ana Lima", f"/conversations/{conversation}?tab=mine")
    await reply_field(page).fill("quase pronto")
    await site.rows.connection.execute("delete from operator_session")

    await expect(page.get_by_role("heading", name="Sign in to the console")).to_be_visible()
    await expect(page.get_by_role("status")).to_contain_text("Your session has ended")
    await page.get_by_label("Name", exact=True).fill("Ana Lima")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()

    await expect(page.get_by_role("heading", name="Ana Souza", level=1)).to_be_visible()
    await expect(reply_field(page)).to_have_value("quase pronto")


async def test_forcing_asks_first(site: ConsoleSite, open_as: Open, ana: Operator, rui: Operator) -> None:
    """An admin reads what it does, confirms, and holds it; the holder sees it go."""
    await site.operator("Chefe", role=Role.ADMIN)
    conversation = await site.waiting()
    await site.command(conversation, Command.TAKE, rui)
    path = f"/conversations/{conversation}"
    holder, admin = await open_as("Rui", path), await open_as("Chefe", path)

    await admin.get_by_role("link", name="Force…").click()
    await expect(admin.get_by_text("Rui holds this conversation.")).to_be_visible()
    await admin.get_by_role("button", name="Yes, take it by force").click()

    await expect(banner(admin)).to_contain_text("You answer")
    await expect(banner(holder)).to_contain_text("With Chefe")


@pytest.mark.parametrize("width", [320, 768, 1440])
async def test_nothing_overflows(site: ConsoleSite, open_as: Open, ana: Operator, width: int) -> None:
    """From a small phone on, list and thread fit; on a phone one is shown at a time, with a way back."""
    long = "umapalavramuitolongasemespaços" * 8
    await site.waiting(long, name=long)
    page = await open_as("Ana Lima", viewport={"width": width, "height": 640})
    assert await page.evaluate("document.documentElement.scrollWidth") <= width

    await page.get_by_role("link", name="umapalavra").click()
    await expect(page.get_by_role("heading", name="umapalavra", level=1)).to_be_visible()

    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 700:
        await page.get_by_role("link", name="Conversations").click()
        await expect(page.get_by_role("link", name="umapalavra")).to_be_visible()
