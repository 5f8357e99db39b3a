"""Sessions of the console: kept on the server, known by a digest, ended by time, sign-out or a new password."""

from __future__ import annotations

import hmac
import logging
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from onevoice.entrypoints.http.limits import TokenBuckets
from onevoice.entrypoints.operators.passwords import PASSWORD_CHARS_MAX, Passwords
from onevoice.entrypoints.operators.principal import DEFAULT_ACCOUNT, Principal, Role
from onevoice.entrypoints.operators.secret import digest, new_session_secret
from onevoice.entrypoints.operators.statements import SQL
from onevoice.errors import SignInLimited, SignInRefused
from onevoice.ports.clock import Clock
from onevoice.store.database import Database, Row
from onevoice.vocabulary import AccountId

__all__ = ["ABSOLUTE_LIFE", "IDLE_LIFE", "Session", "Sessions", "SignedIn"]

LOG = logging.getLogger(__name__)

IDLE_LIFE: Final = timedelta(hours=12)
ABSOLUTE_LIFE: Final = timedelta(days=7)
_SECRET_CHARS_MAX = 200
_NAME_CHARS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is signed in. Every form carries ``csrf_token``; compare with ``is_csrf_token``."""

    principal: Principal
    csrf_token: str

    def is_csrf_token(self, shown: str | None) -> bool:
        return shown is not None and hmac.compare_digest(self.csrf_token.encode(), shown.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A new session. ``secret`` goes into the cookie and is kept nowhere else."""

    session: Session
    secret: str


class Sessions:
    """``database`` is open under the flow role: a cookie is read before its account is known.

    Attempts are limited per process, by name and by address: enough against guessing, because what is guessed
    has a hundred random bits and each guess costs an argon2id hash.
    """

    def __init__(self, database: Database, *, clock: Clock, passwords: Passwords) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._by_name = TokenBuckets(clock, per_minute=6, burst=10)
        self._by_address = TokenBuckets(clock, per_minute=30, burst=30)

    async def sign_in(
        self,
        name: str,
        password: str,
        *,
        address: str,
        account: AccountId = DEFAULT_ACCOUNT,
        replaces: str | None = None,
    ) -> SignedIn:
        """A new session in the place of the browser's old one (``replaces``).

        Unknown names, wrong passwords and disabled operators are refused alike, after the same work.
        """
        known_as = _storable(name)
        self._limit(address, f"{account}\n{known_as}")
        rows = await self._database.run("sign_in", SQL["read_operator_by_name"], account, known_as)
        row = rows[0] if rows and rows[0]["disabled_at"] is None else None
        is_right = await self._passwords.matches(
            password[: PASSWORD_CHARS_MAX + 1], None if row is None else row["password_hash"]
        )
        if row is None or not is_right:
            LOG.warning("sign_in_refused")
            raise SignInRefused
        signed_in = await self._begin(row, replaces)
        LOG.info("signed_in", extra={"operator_id": row["id"], "account_id": account})
        return signed_in

    async def read(self, secret: str | None, *, keeps_alive: bool = True) -> Session | None:
        """The session of a cookie. A person's request keeps it alive for the idle time; what a page asks for by
        itself (``keeps_alive`` false) does not, or a forgotten window would never be signed out."""
        if not secret or len(secret) > _SECRET_CHARS_MAX:
            return None
        rows = await self._database.run(
            "read_session", SQL["read_session"], self._clock.now(), digest(secret), IDLE_LIFE, keeps_alive
        )
        return _session(rows[0], rows[0]["operator_id"], rows[0]["csrf_token"]) if rows else None

    async def sign_out(self, secret: str | None) -> None:
        if secret:
            await self._database.run("sign_out", SQL["end_session"], digest(secret))

    def _limit(self, address: str, name: str) -> None:
        for buckets, key in ((self._by_address, address), (self._by_name, name)):
            wait_seconds = buckets.take(key)
            if wait_seconds > 0:
                LOG.warning("sign_in_limited")
                raise SignInLimited(retry_after_seconds=wait_seconds)

    async def _begin(self, row: Row, replaces: str | None) -> SignedIn:
        secret, csrf_token = new_session_secret(), new_session_secret()
        now = self._clock.now()
        async with self._database.transaction("begin_session") as transaction:
            if replaces:
                await transaction.execute(SQL["end_session"], digest(replaces))
            await transaction.execute(SQL["forget_old_sessions"], now)
            made = await transaction.fetch(
                SQL["add_session"],
                now,
                row["account_id"],
                row["id"],
                digest(secret),
                csrf_token,
                ABSOLUTE_LIFE,
            )
        if not made:
            raise SignInRefused
        return SignedIn(session=_session(row, row["id"], csrf_token), secret=secret)


def _storable(name: str) -> str:
    """What was typed as a name, as one that could be looked up; what could not be kept belongs to nobody."""
    normal = unicodedata.normalize("NFC", name[:_NAME_CHARS_MAX])
    return normal.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _session(row: Row, operator_id: object, csrf_token: str) -> Session:
    principal = Principal(
        account=row["account_id"],
        operator_id=operator_id,  # type: ignore[arg-type]
        name=row["name"],
        role=Role(row["role"]),
    )
    return Session(principal=principal, csrf_token=csrf_token)
