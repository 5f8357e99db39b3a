"""A browser without scripts for the console's route tests: signs in, reads pages, posts what their forms would."""

from __future__ import annotations

import re
from html import unescape
from typing import Self
from uuid import UUID

from httpx2 import ASGITransport, AsyncClient, Response

from tests.console_site import PASSWORD, ConsoleSite

ORIGIN = "http://console.test"


class Reader:
    """One operator's browser; ``client`` is its connection."""

    def __init__(self, site: ConsoleSite, *, base_url: str = ORIGIN) -> None:
        transport = ASGITransport(app=site.app(), client=("203.0.113.9", 1))
        self.client = AsyncClient(
            transport=transport,
            base_url=base_url,
            headers={"origin": base_url, "accept-language": "en"},
        )

    @classmethod
    async def signed_in(cls, site: ConsoleSite, name: str, **fields: str) -> Self:
        reader = cls(site)
        answer = await reader.client.post(
            "/console/sign-in", data={"name": name, "password": PASSWORD, **fields}
        )
        assert answer.status_code == 303
        return reader

    async def desk(self, **query: str) -> Response:
        return await self.client.get("/console", params=query)

    async def thread(self, conversation: UUID, **query: str) -> Response:
        return await self.client.get(f"/console/conversations/{conversation}", params=query)

    async def post(self, conversation: UUID, path: str, **fields: str) -> Response:
        """The form of the conversation's page."""
        csrf = field_of(await self.desk(), "csrf")
        return await self.client.post(
            f"/console/conversations/{conversation}/{path}", data={"csrf": csrf, **fields}
        )

    async def close(self) -> None:
        await self.client.aclose()


def field_of(page: Response, name: str) -> str:
    """The value of the first field of this name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, f"the page has no field {name}"
    return unescape(found[1])


def rows_of(page: Response) -> list[str]:
    """The names in the list, in order."""
    found = re.findall(r'<strong dir="auto">(.*?)</strong><span class="(?:when|waited)"', page.text)
    return [unescape(name) for name in found]


def commands_of(page: Response) -> set[str]:
    """What the banner's buttons and forms ask for."""
    found = set(
        re.findall(
            r"/console/conversations/[0-9a-f-]+/(take|force|release|transfer|suspend|resume)\b", page.text
        )
    )
    return {str(command) for command in found}


def text_of(page: Response, region: str) -> str:
    """The words of one entry or region by its id, without markup."""
    start = page.text.index(f'id="{region}"')
    end = re.compile(r"</li>|</section>|</header>").search(page.text, start)
    words = re.sub(r"<[^>]+>", " ", page.text[page.text.index(">", start) + 1 : end.start() if end else None])
    return " ".join(unescape(words).split())
