"""A Graph stand-in that accepts at once and only counts, in a process of its own: prints its port, then serves.

``GET /count`` answers how many messages it took and how many different ones.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop

_taken = 0
_keys: set[bytes] = set()
_MARK = b'"biz_opaque_callback_data":"'


class _Channel(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._serve_one():
            pass

    def _serve_one(self) -> bool:
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator or self._transport is None:
            return False
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if len(rest) < length:
            return False
        body, self._buffer = rest[:length], rest[length:]
        self._transport.write(_answer(body) if head.startswith(b"POST") else _respond(_counts()))
        return True


def _answer(body: bytes) -> bytes:
    global _taken
    _taken += 1
    _keys.add(body.partition(_MARK)[2].partition(b".")[0])
    return _respond(b'{"messages":[{"id":"wamid.INSTANT.%d"}]}' % _taken)


def _counts() -> bytes:
    return b'{"taken":%d,"different":%d}' % (_taken, len(_keys))


def _respond(body: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    )


async def _main() -> None:
    server = await asyncio.get_running_loop().create_server(_Channel, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_main())
