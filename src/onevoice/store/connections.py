"""A small pool of owned connections: opened when needed, last used first, never reset between uses.

A connection goes back only when its state is known: no open transaction, no statement in flight.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec
from asyncpg import Record as Row

from onevoice.errors import ConfigurationError, DatabaseUnavailable
from onevoice.store.failure import DRIVER_ERRORS, describe_dsn, translate_connect_error

if TYPE_CHECKING:
    Connection = asyncpg.Connection[Row]
else:
    Connection = asyncpg.Connection

_CONNECT_SECONDS_MAX = 10.0
# Longer than the server's own limit below: it only ends a wait for a server that has vanished without a word.
_ANSWER_SECONDS_MAX = 45.0
_JSONB_VERSION = b"\x01"

_SETTINGS = {
    "application_name": "onevoice",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "jit": "off",
}


class Connections:
    """At most `connections_max` connections; a caller that finds all of them busy waits its turn."""

    def __init__(
        self, dsn: str, *, role: str, connections_max: int = 8, wait_seconds_max: float = 10.0
    ) -> None:
        self._dsn = dsn
        self._role = role
        self._connections_max = connections_max
        self._wait_seconds_max = wait_seconds_max
        self._slots = asyncio.Semaphore(connections_max)
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._closed = False

    async def acquire(self) -> Connection:
        """A connection with no open transaction, for this caller alone."""
        self._refuse_when_closed()
        if self._slots.locked():
            await self._wait_for_slot()
        else:
            # Does not suspend; the time-out's own cost is saved on the hot path.
            await self._slots.acquire()
        try:
            self._refuse_when_closed()
            connection = self._take_idle() or await self._connect()
        except BaseException:
            self._slots.release()
            raise
        self._used.add(connection)
        return connection

    def release(self, connection: Connection) -> None:
        """Give back a connection that has no transaction open and nothing in flight."""
        self._used.discard(connection)
        if self._closed:
            connection.terminate()
        elif not connection.is_closed():
            self._idle.append(connection)
        self._slots.release()

    def discard(self, connection: Connection) -> None:
        """Drop a connection whose state is unknown."""
        self._used.discard(connection)
        connection.terminate()
        self._slots.release()

    def lost(self, connection: Connection) -> None:
        """Drop a broken connection, and the idle ones: what broke it has most likely broken them too."""
        self.discard(connection)
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Close the idle connections in good order and cut those still in use."""
        self._closed = True
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=2.0)
            except DRIVER_ERRORS:
                connection.terminate()
        for connection in self._used:
            connection.terminate()

    async def _wait_for_slot(self) -> None:
        try:
            async with asyncio.timeout(self._wait_seconds_max):
                await self._slots.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"all {self._connections_max} database connections were busy "
                f"for {self._wait_seconds_max:g} s; allow more connections or look for slow statements"
            ) from None

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("the database was closed because this process is stopping")

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def _connect(self) -> Connection:
        try:
            connection = await asyncpg.connect(
                self._dsn,
                timeout=_CONNECT_SECONDS_MAX,
                command_timeout=_ANSWER_SECONDS_MAX,
                server_settings={**_SETTINGS, "role": self._role},
                # Our statements are few and fixed: each is prepared once per connection and kept.
                statement_cache_size=1000,
                max_cached_statement_lifetime=0,
                max_cacheable_statement_size=0,
            )
        except (asyncpg.ClientConfigurationError, ValueError):
            failure: Exception = ConfigurationError(
                [f"the database URL cannot be read: {describe_dsn(self._dsn)}"]
            )
        except DRIVER_ERRORS as error:
            failure = translate_connect_error(error, dsn=self._dsn, role=self._role)
        else:
            await _read_json(connection)
            return connection
        raise failure


async def _read_json(connection: Connection) -> None:
    for name, encode, decode in (
        ("json", msgspec.json.encode, msgspec.json.decode),
        ("jsonb", _encode_jsonb, _decode_jsonb),
    ):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=encode, decoder=decode, format="binary"
        )


def _encode_jsonb(value: object) -> bytes:
    return _JSONB_VERSION + msgspec.json.encode(value)


def _decode_jsonb(data: bytes) -> Any:
    return msgspec.json.decode(data[1:])
