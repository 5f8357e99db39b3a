"""What the doctor examines in tests: settings, and a web server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from onevoice.settings import Settings, WhatsAppChannelSettings
from tests.cli.command import PLANTED


class Graph:
    """A web server on loopback that gives one answer and remembers the requests' heads."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body
        self.heads: list[str] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        head = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + (b"" if self.heads[-1].startswith("HEAD") else self.body))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def graph(status: int, body: object) -> AsyncGenerator[Graph]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    fake = Graph(status, content)
    listening = await asyncio.start_server(fake.answer, "127.0.0.1", 0)
    async with listening:
        fake.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield fake


def whatsapp(graph_url: str) -> WhatsAppChannelSettings:
    return WhatsAppChannelSettings.model_validate({
        "name": "loja",
        "kind": "whatsapp",
        "phone_number_id": "100000000000001",
        "access_token": PLANTED,
        "app_secret": PLANTED,
        "verify_token": PLANTED,
        "graph_url": graph_url,
    })  # fmt: skip


def settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)
