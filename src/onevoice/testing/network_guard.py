"""A guard against tests that talk to the outside."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Generator
from contextlib import contextmanager


class OutsideConnection(AssertionError):
    """A connection to something else than this machine was tried; point it at a loopback server."""


@contextmanager
def loopback_only() -> Generator[None]:
    """Fail every socket that connects to anything but loopback or a Unix socket.

    It is no ``OSError``, so that code which expects broken networks does not swallow it. It sees Python's
    sockets, hence asyncio's own event loop; uvloop connects below them.

    >>> with loopback_only(), socket.socket() as outside:
    ...     outside.connect(("192.0.2.1", 443))
    Traceback (most recent call last):
    ...
    onevoice.testing.network_guard.OutsideConnection: 192.0.2.1 is outside; point the connection at loopback
    """
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded_connect(self: socket.socket, address: object, /) -> None:
        _refuse_outside(self, address)
        connect(self, address)  # pyright: ignore[reportArgumentType] - Passed on as it came.

    def guarded_connect_ex(self: socket.socket, address: object, /) -> int:
        _refuse_outside(self, address)
        return connect_ex(self, address)  # pyright: ignore[reportArgumentType] - Passed on as it came.

    socket.socket.connect = guarded_connect
    socket.socket.connect_ex = guarded_connect_ex
    try:
        yield
    finally:
        socket.socket.connect = connect
        socket.socket.connect_ex = connect_ex


def _refuse_outside(connecting: socket.socket, address: object) -> None:
    if connecting.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return
    host = str(address[0])  # pyright: ignore[reportUnknownArgumentType] - Whatever it is, it is shown.
    if host != "localhost" and not _is_loopback(host):
        raise OutsideConnection(f"{host} is outside; point the connection at loopback")


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
