"""Who comes into the console: signing in and out, cookies, expiry, forged forms, roles, and two accounts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from httpx2 import ASGITransport, AsyncClient, Response

from onevoice.entrypoints.operators import Operator, Role
from onevoice.entrypoints.operators.sessions import ABSOLUTE_LIFE, IDLE_LIFE
from onevoice.store.database import Database
from onevoice.testing import ManualClock
from onevoice.vocabulary import AccountId
from tests.builders import Rows
from tests.console_site import PASSWORD, ConsoleSite, console_site

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ORIGIN = "http://console.test"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def site(
    database: Database, api_database: Database, owner: Connection, clock: ManualClock
) -> AsyncIterator[ConsoleSite]:
    async with console_site(database, api_database, owner, clock=clock) as site:
        yield site


@pytest.fixture
async def ana(site: ConsoleSite) -> Operator:
    return await site.operator("Ana Lima")


def browser(site: ConsoleSite, *, base_url: str = ORIGIN) -> AsyncClient:
    transport = ASGITransport(app=site.app(), client=("203.0.113.9", 1))
    return AsyncClient(transport=transport, base_url=base_url, headers={"origin": base_url})


@pytest.fixture
async def client(site: ConsoleSite) -> AsyncIterator[AsyncClient]:
    async with browser(site) as client:
        yield client


async def sign_in(
    client: AsyncClient, name: str = "Ana Lima", password: str = PASSWORD, **fields: str
) -> Response:
    return await client.post("/console/sign-in", data={"name": name, "password": password, **fields})


def csrf_of(page: Response) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


async def post(client: AsyncClient, path: str, **fields: str) -> Response:
    """A form as the page would post it."""
    return await client.post(path, data={"csrf": csrf_of(await client.get("/console")), **fields})


async def test_the_start_page_leads_to_the_console(client: AsyncClient) -> None:
    """Whoever types the server's name alone comes to the console."""
    assert (await client.get("/")).headers["location"] == "/console"


async def test_a_page_asks_to_sign_in_and_returns(client: AsyncClient, ana: Operator) -> None:
    """Signing in goes on to the page that was wanted."""
    asked = await client.get("/console/conversations/nowhere?tab=mine")
    assert asked.status_code == 303
    wanted = parse_qs(urlsplit(asked.headers["location"]).query)["next"][0]
    assert wanted == "/console/conversations/nowhere?tab=mine"
    page = await client.get(asked.headers["location"])
    assert 'value="/console/conversations/nowhere?tab=mine"' in page.text

    signed_in = await sign_in(client, next=wanted)

    assert (signed_in.status_code, signed_in.headers["location"]) == (303, wanted)
    assert (await client.get("/console")).status_code == 200


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/console@evil.example",
        "/consoles",
        "/\\evil",
        "javascript:1",
    ],
)
async def test_signing_in_leads_nowhere_else(client: AsyncClient, ana: Operator, elsewhere: str) -> None:
    """The address to go on with is one of the console's, or its start."""
    assert (await sign_in(client, next=elsewhere)).headers["location"] == "/console"


async def test_a_refusal_tells_no_name(client: AsyncClient, ana: Operator) -> None:
    """A wrong password and an unknown name are answered alike, and keep what was typed as a name."""
    wrong = await sign_in(client, password="wrong")
    unknown = await sign_in(client, name="Nobody")

    assert (wrong.status_code, unknown.status_code) == (401, 401)
    assert wrong.text.replace("Ana Lima", "Nobody") == unknown.text
    assert "set-cookie" not in wrong.headers


async def test_guessing_is_slowed_down(client: AsyncClient, ana: Operator) -> None:
    """After many attempts the answer says how long to wait, to the right password too."""
    answers = [await sign_in(client, password="wrong") for _ in range(11)]

    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    assert (await sign_in(client)).status_code == 429


async def test_the_cookie_over_http(client: AsyncClient, ana: Operator) -> None:
    """No script reads it and no other site's form sends it."""
    cookie = (await sign_in(client)).headers["set-cookie"]

    assert cookie.startswith("onevoice_session=")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
    assert "Secure" not in cookie


async def test_the_cookie_over_https(
    database: Database, api_database: Database, owner: Connection, clock: ManualClock
) -> None:
    """Over https the browser binds it to this host; a proxy in front is known by the public address."""
    async with console_site(
        database, api_database, owner, clock=clock, public_url="https://console.example"
    ) as site:
        await site.operator("Ana Lima")
        async with browser(site, base_url="https://console.example") as client:
            cookie = (await sign_in(client)).headers["set-cookie"]

            assert cookie.startswith("__Host-onevoice_session=")
            assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(cookie.split("; "))
            assert "Domain" not in cookie
            assert (await client.get("/console")).status_code == 200


async def test_an_idle_session_ends(client: AsyncClient, ana: Operator, clock: ManualClock) -> None:
    """After the idle time the page asks to sign in, and leads back to where its reader was."""
    await sign_in(client)
    await clock.advance(IDLE_LIFE.total_seconds() + 1)

    page = await client.get("/console?tab=all")

    assert page.status_code == 303
    assert parse_qs(urlsplit(page.headers["location"]).query) == {
        "next": ["/console?tab=all"],
        "why": ["expired"],
    }


async def test_what_a_page_asks_for_by_itself_is_no_sign_of_life(
    client: AsyncClient, ana: Operator, clock: ManualClock
) -> None:
    """A forgotten window that refreshes itself is signed out all the same, and told where to go."""
    await sign_in(client)
    by_itself = {"x-console-part": "list", "x-console-by-itself": "1"}
    for _ in range(3):
        await clock.advance(IDLE_LIFE.total_seconds() / 3)
        last = await client.get("/console", headers=by_itself)

    assert last.status_code == 401
    assert last.headers["x-console-sign-in"].startswith("/console/sign-in?")


async def test_a_person_keeps_the_session_alive(
    client: AsyncClient, ana: Operator, clock: ManualClock
) -> None:
    """What somebody asks for counts, up to the absolute end."""
    await sign_in(client)
    for _ in range(3):
        await clock.advance(IDLE_LIFE.total_seconds() / 2)
        assert (await client.get("/console")).status_code == 200
    await clock.advance(ABSOLUTE_LIFE.total_seconds())
    assert (await client.get("/console")).status_code == 303


async def test_signing_out_ends_the_session(client: AsyncClient, ana: Operator) -> None:
    """The cookie is removed, and a copy of it opens nothing."""
    await sign_in(client)
    kept = client.cookies["onevoice_session"]

    out = await post(client, "/console/sign-out")

    assert out.headers["location"] == "/console/sign-in?why=signed_out"
    assert "Max-Age=0" in out.headers["set-cookie"]
    client.cookies.set("onevoice_session", kept)
    assert (await client.get("/console")).status_code == 303


async def test_a_disabled_operator_is_out_at_once(
    site: ConsoleSite, client: AsyncClient, ana: Operator
) -> None:
    """The next request of a disabled operator is answered with the door."""
    await sign_in(client)
    await site.operators.disable(ana)

    assert (await client.get("/console")).status_code == 303


@pytest.mark.parametrize(
    "path", ["take", "release", "suspend", "resume", "force", "transfer", "messages", "notes"]
)
async def test_a_forged_form_does_nothing(
    site: ConsoleSite, client: AsyncClient, ana: Operator, path: str
) -> None:
    """Without the session's token, with another one, or from another site's page, every command is refused."""
    conversation = await site.write("oi")
    before = await site.authority(conversation)
    await sign_in(client)
    token = csrf_of(await client.get("/console"))
    address = f"/console/conversations/{conversation}/{path}"

    answers = [
        await client.post(address, data={"text": "oi"}),
        await client.post(address, data={"csrf": "x" * len(token)}),
        await client.post(address, data={"csrf": token}, headers={"origin": "https://evil.example"}),
        await client.post(address, data={"csrf": token}, headers={"origin": "null"}),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 403]
    assert await site.authority(conversation) == before


async def test_another_site_cannot_sign_anybody_in(client: AsyncClient, ana: Operator) -> None:
    """A form elsewhere that signs its reader in as somebody else is refused."""
    client.headers["origin"] = "https://evil.example"

    assert (await sign_in(client)).status_code == 403


async def test_a_command_without_a_session_is_sent_to_sign_in(client: AsyncClient, site: ConsoleSite) -> None:
    """And afterwards to the conversation, not to the command's address."""
    conversation = await site.write("oi")

    answer = await client.post(f"/console/conversations/{conversation}/take", data={})

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query)["next"] == [
        f"/console/conversations/{conversation}"
    ]
    assert (await site.authority(conversation))[1] is None


async def test_pages_are_kept_by_nobody_and_run_nothing_inline(
    site: ConsoleSite, client: AsyncClient, ana: Operator
) -> None:
    """A strict policy, no cache, no frame, and nothing inline that the policy would have to allow."""
    conversation = await site.write("oi")
    door = await client.get("/console/sign-in")
    await sign_in(client)
    pages = [door, await client.get("/console"), await client.get(f"/console/conversations/{conversation}")]

    for page in pages:
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert re.search(r"<script(?![^>]*src=)|\sstyle=|\son[a-z]+=|javascript:", page.text) is None


async def test_files_are_kept_only_under_their_version(client: AsyncClient) -> None:
    """A browser keeps a file for ever under the version in its address, and asks again without one."""
    page = await client.get("/console/sign-in")
    address = re.search(r'href="([^"]+console\.css\?v=[^"]+)"', page.text)
    assert address is not None

    assert "immutable" in (await client.get(address[1])).headers["cache-control"]
    assert (await client.get("/console/assets/swap.js")).headers["cache-control"] == "no-cache"
    assert (await client.get("/console/assets/..%2fservices.py")).status_code == 404


async def test_two_accounts_never_see_each_other(
    site: ConsoleSite, client: AsyncClient, owner: Connection, ana: Operator
) -> None:
    """Another account's conversation is not listed, found, shown or commanded, by an admin neither."""
    conversation = await site.write("segredo da loja", name="Cliente Secreta")
    other = AccountId("other")
    await site.operator("Olga", role=Role.ADMIN, account=other)
    await Rows(owner, other).conversation(name="Da outra", address="77", active=0.0)
    await sign_in(client, "Olga", account="other")

    pages = [
        await client.get("/console?tab=all"),
        await client.get("/console?q=Secreta"),
        await client.get("/console?q=ana"),
    ]
    assert all("Cliente Secreta" not in page.text and "segredo" not in page.text for page in pages)
    assert "Da outra" in pages[0].text
    address = f"/console/conversations/{conversation}"
    for path in ("", "/force"):
        assert (await client.get(f"{address}{path}")).status_code == 404
    key = str(conversation)
    for path in ("take", "force", "suspend", "notes", "messages"):
        answer = await post(client, f"{address}/{path}", text="oi", key=key)
        assert answer.status_code == 404, path
    assert await site.authority(conversation) == ("AI_ACTIVE", None)


async def test_the_same_name_in_two_accounts_is_two_people(
    site: ConsoleSite, client: AsyncClient, ana: Operator
) -> None:
    """The account is part of who signs in; the wrong one is refused."""
    await site.operator("Ana Lima", account=AccountId("other"))

    assert (await sign_in(client, account="third")).status_code == 401
    assert (await sign_in(client, account="other")).status_code == 303
    assert "/console" in (await client.get("/console")).text


async def test_the_language_is_chosen(client: AsyncClient, ana: Operator) -> None:
    """By the browser at first, then by its reader; the choice leads back to the page."""
    client.headers["accept-language"] = "pt-BR,pt;q=0.9"
    assert 'lang="pt-BR"' in (await client.get("/console/sign-in")).text
    await sign_in(client)
    chosen = await post(client, "/console/language", language="en", back="/console?tab=all")

    assert chosen.headers["location"] == "/console?tab=all"
    assert 'lang="en"' in (await client.get("/console")).text


async def test_a_form_is_read_within_limits(site: ConsoleSite, client: AsyncClient, ana: Operator) -> None:
    """Another media type, broken bytes, too many fields and too much text are refused before any work."""
    conversation = await site.write("oi")
    await sign_in(client)
    token = csrf_of(await client.get("/console"))
    address = f"/console/conversations/{conversation}/notes"
    form = {"content-type": "application/x-www-form-urlencoded"}

    answers = {
        "json": await client.post(address, json={"csrf": token, "text": "x"}),
        "bytes": await client.post(address, content=b"text=\xff\xfe", headers=form),
        "fields": await client.post(address, content=b"a=1&" * 50, headers=form),
        "body": await client.post(address, content=b"text=" + b"x" * 300_000, headers=form),
        "text": await client.post(address, data={"csrf": token, "text": "x" * 20_001}),
    }

    assert {name: answer.status_code for name, answer in answers.items()} == {
        "json": 415, "bytes": 400, "fields": 400, "body": 413, "text": 422,
    }  # fmt: skip
    assert await site.rows.connection.fetchval("select count(*) from note") == 0
