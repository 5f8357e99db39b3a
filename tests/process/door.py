"""What stands outside: a customer's platform that signs webhooks, and an operator's view through the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from types import TracebackType
from typing import Any, Self
from uuid import uuid4  # noqa: TID251 - An id of the platform's.

import httpx2

from tests.process.server import API_TOKEN, Json, eventually, now_seconds
from tests.wire.whatsapp.wire import envelope, sign

ANA = "5511999990000"


class Door:
    """One HTTP client of a running server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx2.AsyncClient(base_url=url, timeout=20.0, trust_env=False)
        # Ids are unique beyond this test: a shared server keeps them for ever.
        self._prefix = f"wamid.{uuid4().hex}"
        self._numbers = count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def message(self, text: str | None = "oi", *, contact: str = ANA, **changes: object) -> Json:
        """A message item as Meta sends it; ``changes`` of None remove a key."""
        item: Json = {
            "from": contact,
            "id": f"{self._prefix}.{next(self._numbers)}",
            "timestamp": str(now_seconds()),
            "type": "text",
            "text": None if text is None else {"body": text},
            **{key.rstrip("_"): value for key, value in changes.items()},
        }
        return {key: value for key, value in item.items() if value is not None}

    async def post(
        self,
        body: bytes,
        *,
        channel: str = "loja",
        signature: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """A webhook with its right signature, or the one given."""
        signed = (sign(body) if signature is None else signature).encode("latin-1")
        return await self._http.post(
            f"/webhooks/{channel}",
            content=body,
            headers={
                b"x-hub-signature-256": signed,
                **{name.encode(): value.encode() for name, value in (headers or {}).items()},
            },
        )

    async def deliver(self, *items: Json, **value: object) -> int:
        """A webhook with these messages; returns the status."""
        messages: Json = {"messages": list(items)} if items else {}
        return (await self.post(envelope({**messages, **value}))).status_code

    async def say(self, *texts: str, contact: str = ANA) -> None:
        """One webhook per text, each answered with 200."""
        for text in texts:
            assert await self.deliver(self.message(text, contact=contact)) == 200

    async def report(self, external_id: str, status: str, **changes: object) -> None:
        """A status webhook."""
        item: Json = {
            "id": external_id,
            "status": status,
            "timestamp": str(now_seconds()),
            "recipient_id": ANA,
            **changes,
        }
        assert await self.deliver(statuses=[item]) == 200

    async def get(self, path: str, *, token: str | None = API_TOKEN, **query: str) -> httpx2.Response:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return await self._http.get(path, params=query, headers=headers)

    async def call(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **content: Any
    ) -> httpx2.Response:
        """Any call of the API as its automation; ``content`` is the client's ``json`` or ``content``."""
        bearer = {"authorization": f"Bearer {API_TOKEN}"} | dict(headers or {})
        return await self._http.request(method, path, headers=bearer, **content)

    async def read(self, path: str, **query: str) -> Json:
        answer = await self.get(f"/api/v1{path}", **query)
        assert answer.status_code == 200, answer.text
        content: Json = json.loads(answer.content)
        return content

    async def conversations(self, contact: str = ANA) -> list[Json]:
        items: list[Json] = (await self.read("/conversations", contact=contact))["items"]
        return items

    async def timeline(self, contact: str = ANA, *, kind: str | None = None) -> list[Json]:
        """Everything of the one conversation of a contact, oldest first; empty while there is none."""
        found = await self.conversations(contact)
        if not found:
            return []
        assert len(found) == 1, "a contact has one conversation"
        items: list[Json] = (await self.read(f"/conversations/{found[0]['id']}/timeline", limit="200"))[
            "items"
        ]
        return [item for item in items if kind in (None, item["kind"])]

    async def states(self, kind: str, contact: str = ANA) -> list[str]:
        """The states of a contact's inbound messages, turns or outbound messages, oldest first."""
        return [item["state"] for item in await self.timeline(contact, kind=kind)]

    async def reaches(
        self, kind: str, *states: str, contact: str = ANA, seconds_max: float = 20.0
    ) -> list[Json]:
        """Wait until the contact's items of this kind are in exactly these states; returns them."""

        async def look() -> bool:
            return await self.states(kind, contact) == list(states)

        try:
            await eventually(look, f"{kind} in states {states}", seconds_max=seconds_max)
        except AssertionError as error:
            raise AssertionError(f"{error}; there are {await self.timeline(contact)}") from None
        return await self.timeline(contact, kind=kind)
