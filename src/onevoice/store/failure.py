"""Driver errors become the errors of onevoice, once, here.

The server's own words quote the values of a row ("Key (contact_address)=(…) already exists"), so a message is
made of names only, and the driver's error is not chained to ours: a traceback in a log would show it.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg

from onevoice.errors import (
    DatabaseUnavailable,
    DataRefused,
    OnevoiceError,
    StatementFailed,
    StatementInterrupted,
)

Result = TypeVar("Result")

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    EOFError,
)

# Connection lost, server starting or stopping, disk full, too many connections, read-only standby.
_UNAVAILABLE = ("08", "53", "57P", "58", "25006", "25P03", "25P04")
# Serialization, deadlock, lock time-out, statement time-out.
_INTERRUPTED = ("40", "55P03", "57014")
# Data exceptions, and values too large for an index or a row.
_REFUSED = ("22", "54")
# Classes whose messages speak of our SQL and its names, never of values.
_ABOUT_SQL = ("42", "0A", "3D", "3F")


async def translated(call: Awaitable[Result], *, what: str) -> Result:
    """Await the call; a driver error leaves as one of ours. `what` names the statement or transaction."""
    try:
        return await call
    except DRIVER_ERRORS as error:
        failure = translate(error, what=what)
    raise failure


def translate(error: BaseException, *, what: str) -> OnevoiceError:
    """The error of onevoice for a driver's error."""
    if isinstance(error, asyncpg.PostgresError):
        return _translate_server_error(error, what=what)
    if isinstance(error, asyncpg.InterfaceError) and str(error).startswith("the server expects"):
        return StatementFailed(f"{what}: {str(error).splitlines()[0]}")
    return DatabaseUnavailable(
        f"{what}: the connection to the database was lost ({type(error).__name__}); "
        "the next call opens it again"
    )


def translate_connect_error(error: BaseException, *, dsn: str, role: str) -> OnevoiceError:
    """Why no connection could be opened, without the password."""
    where = describe_dsn(dsn)
    if isinstance(error, asyncpg.PostgresError):
        sqlstate = error.sqlstate or ""
        if sqlstate in {"22023", "42501"}:
            return DatabaseUnavailable(
                f"the database user of {where} cannot become the role {role}; run `onevoice migrate` first"
            )
        if sqlstate.startswith(("28", "3D")):
            return DatabaseUnavailable(
                f"the database at {where} refuses the connection ({error.message}); "
                "check user, password and database name"
            )
        return DatabaseUnavailable(f"the database at {where} does not take connections ({error.message})")
    if isinstance(error, ssl.SSLError):
        reason = "its TLS certificate is not accepted"
    elif isinstance(error, TimeoutError):
        reason = "no answer in time"
    else:
        reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return DatabaseUnavailable(f"cannot connect to the database at {where}: {reason}; check that it runs")


def describe_dsn(dsn: str) -> str:
    """Host, port and database of a connection string, without user and password."""
    parts = urlsplit(dsn)
    host = parts.hostname or parse_qs(parts.query).get("host", ["the local socket"])[0]
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{host}{port}/{parts.path.lstrip('/')}"


def _translate_server_error(error: asyncpg.PostgresError, *, what: str) -> OnevoiceError:
    sqlstate = error.sqlstate or ""
    constraint = error.constraint_name or None
    condition = type(error).__name__.removesuffix("Error")
    if sqlstate in _INTERRUPTED or sqlstate.startswith("40"):
        return StatementInterrupted(
            f"{what} was interrupted ({condition}, {sqlstate}); nothing was stored, try again",
            sqlstate=sqlstate,
        )
    if sqlstate.startswith(_UNAVAILABLE):
        return DatabaseUnavailable(
            f"{what}: the database is not available ({condition}, {sqlstate}); try again"
        )
    if sqlstate.startswith(_REFUSED):
        return DataRefused(f"{what}: a value cannot be stored ({condition}, {sqlstate})", sqlstate=sqlstate)
    if constraint:
        text = f"{what} was refused by the constraint {constraint} ({sqlstate})"
    elif sqlstate.startswith(_ABOUT_SQL):
        text = f"{what} failed: {error.message} ({sqlstate})"
    else:
        text = f"{what} failed ({condition}, {sqlstate})"
    return StatementFailed(text, sqlstate=sqlstate, constraint=constraint)
